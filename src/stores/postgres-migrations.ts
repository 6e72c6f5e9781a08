/**
 * The tables of the PostgreSQL store. To change them, append a step and leave the others as they are.
 *
 * Several releases may run on one database, during a deploy. So a step either expands (it adds what the next release
 * needs, and releases before it work on) or contracts (it removes what they no longer use). `since` of a step that
 * contracts is the number of the first step whose release does without what is removed. A release that is older than that
 * refuses to start; every other release works, also on a schema that is newer than itself.
 */
export interface Migration {
  kind: "expand" | "contract";
  /** The lowest number of steps that a release must know to work after this step. */
  since: number;
  sql: string;
}

/** Names and ids are compared by their bytes, as JavaScript compares them. */
const key = 'text COLLATE "C"';

export const migrations: readonly Migration[] = [
  {
    kind: "expand",
    since: 0,
    sql: `
CREATE TABLE session (
  id             ${key} PRIMARY KEY,
  chat           ${key} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  owner          ${key} NOT NULL,
  name           ${key},
  app_name       ${key} NOT NULL,
  title          text,
  state          text NOT NULL,
  revision       bigint NOT NULL DEFAULT 0,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  deleted        boolean NOT NULL DEFAULT false,
  last_position  bigint NOT NULL DEFAULT 0,
  last_sequence  bigint NOT NULL DEFAULT 0,
  audit_sequence bigint NOT NULL DEFAULT 0,
  audit_hash     text NOT NULL DEFAULT '',
  lease_node     text,
  lease_fence    bigint NOT NULL DEFAULT 0,
  lease_until    bigint NOT NULL DEFAULT 0,
  CHECK ((name IS NULL) = (chat <> id))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX chat_name ON session (owner, name, app_name) WHERE name IS NOT NULL;
CREATE INDEX session_of_chat ON session (chat);
CREATE INDEX chat_of_owner ON session (owner, updated_at, id) WHERE name IS NOT NULL;
CREATE INDEX chat_by_age ON session (updated_at) WHERE name IS NOT NULL;
CREATE INDEX session_deleted ON session (id) WHERE deleted;
CREATE INDEX chat_of_node ON session (lease_node) WHERE lease_node IS NOT NULL;

CREATE TABLE event (
  session   ${key} NOT NULL,
  position  bigint NOT NULL,
  id        ${key} NOT NULL,
  event     text NOT NULL,
  withdrawn boolean NOT NULL DEFAULT false,
  PRIMARY KEY (session, position)
);
CREATE UNIQUE INDEX event_id ON event (session, id) WHERE NOT withdrawn;

CREATE TABLE response (
  session  ${key} NOT NULL,
  call_id  ${key} NOT NULL,
  position bigint NOT NULL,
  CONSTRAINT one_response_per_call PRIMARY KEY (session, call_id)
);
CREATE INDEX response_of_event ON response (session, position);

CREATE TABLE log (
  chat     ${key} NOT NULL,
  sequence bigint NOT NULL,
  at       bigint NOT NULL,
  turn     text NOT NULL,
  kept     boolean NOT NULL,
  entry    text NOT NULL,
  PRIMARY KEY (chat, sequence)
);

CREATE TABLE open_turn (
  opened   bigint GENERATED ALWAYS AS IDENTITY,
  chat     ${key} NOT NULL,
  turn     text NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY (chat, turn)
);

CREATE TABLE ended_turn (
  chat     ${key} NOT NULL,
  turn     text NOT NULL,
  sequence bigint NOT NULL,
  last     bigint NOT NULL,
  at       bigint NOT NULL,
  PRIMARY KEY (chat, last)
);
CREATE INDEX ended_turn_by_age ON ended_turn (at);

CREATE TABLE message (
  chat     ${key} NOT NULL,
  id       ${key} NOT NULL,
  sequence bigint NOT NULL,
  role     text NOT NULL,
  at       bigint NOT NULL,
  message  text NOT NULL,
  PRIMARY KEY (chat, id)
);
CREATE INDEX message_in_order ON message (chat, sequence, id);
CREATE INDEX message_of_role ON message (chat, role, sequence);

CREATE TABLE file (
  chat       ${key} NOT NULL,
  id         ${key} NOT NULL,
  media_type text NOT NULL,
  name       text,
  size       bigint NOT NULL,
  at         bigint NOT NULL,
  data       bytea NOT NULL,
  PRIMARY KEY (chat, id)
);
ALTER TABLE file ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX file_id ON file (id);

CREATE TABLE approval (
  created         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version         bigint NOT NULL DEFAULT 0,
  id              ${key} NOT NULL UNIQUE,
  chat            ${key} NOT NULL,
  session         ${key} NOT NULL,
  owner           ${key} NOT NULL,
  app_name        ${key},
  tool_call_id    ${key} NOT NULL,
  tool_name       text NOT NULL,
  input           text NOT NULL,
  raw_input       text,
  digest          text NOT NULL,
  message_id      text NOT NULL,
  placed_in       text,
  agent           text NOT NULL,
  branch          text,
  mode            text NOT NULL CHECK (mode IN ('request', 'live')),
  requested_by    text,
  tool_hash       text,
  card            text,
  hint            text,
  payload         text,
  external        boolean NOT NULL,
  effect          text NOT NULL,
  gated           boolean NOT NULL,
  start_ms        bigint NOT NULL,
  report_ms       bigint,
  inner_session   ${key},
  created_at      bigint NOT NULL,
  expires_at      bigint NOT NULL,
  idempotency_key ${key} NOT NULL UNIQUE,
  state           text NOT NULL,
  start_by        bigint,
  decided_at      bigint,
  decided_by      text,
  decision_key    text,
  reason          text,
  fence           bigint NOT NULL,
  lease_owner     text,
  lease_until     bigint,
  report_by       bigint,
  interim         text,
  outcome         text,
  state_delta     text,
  actions         text,
  resolved_by     text,
  finished_at     bigint,
  told            boolean NOT NULL,
  shown           boolean,
  due_at          bigint,
  CONSTRAINT one_approval_per_call UNIQUE (session, tool_call_id)
) WITH (fillfactor = 70);
CREATE INDEX approval_of_chat ON approval (chat, state);
CREATE INDEX approval_of_owner ON approval (owner, created);
CREATE INDEX approval_of_call ON approval (tool_call_id);
CREATE INDEX approval_of_agent ON approval (inner_session) WHERE inner_session IS NOT NULL;
CREATE INDEX approval_due ON approval (due_at, created) WHERE due_at IS NOT NULL;
CREATE INDEX approval_open ON approval (owner, state) WHERE state IN ('pending', 'approved', 'executing', 'waiting');

CREATE TABLE audit (
  chat        ${key} NOT NULL,
  sequence    bigint NOT NULL,
  at          bigint NOT NULL,
  approval_id ${key} NOT NULL,
  event       text NOT NULL,
  state       text NOT NULL,
  by          text,
  digest      text NOT NULL,
  hash        text NOT NULL,
  PRIMARY KEY (chat, sequence)
);

CREATE TABLE audit_hash (
  chat     ${key} NOT NULL,
  sequence bigint NOT NULL,
  hash     text NOT NULL,
  PRIMARY KEY (chat, sequence)
);

CREATE TABLE posted (
  number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id        ${key} NOT NULL UNIQUE,
  chat      ${key} NOT NULL,
  from_node text NOT NULL,
  at        bigint NOT NULL,
  body      text NOT NULL,
  taken_by  text,
  answer    text
);
CREATE INDEX posted_in_chat ON posted (chat);

-- Lost when the server crashes, and noted again soon after.
CREATE UNLOGGED TABLE presence (
  key   text NOT NULL,
  node  text NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (key, node)
);

-- The bodies of these functions are replaced by those of the newest release (postgres-rules.ts).
CREATE FUNCTION approval_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE FUNCTION audit_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE FUNCTION session_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER approval_rules BEFORE INSERT OR UPDATE OR DELETE ON approval
  FOR EACH ROW EXECUTE FUNCTION approval_rules();
CREATE TRIGGER audit_rules BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_rules();
CREATE TRIGGER audit_rules BEFORE UPDATE OR DELETE ON audit_hash FOR EACH ROW EXECUTE FUNCTION audit_rules();
CREATE TRIGGER session_rules AFTER DELETE ON session FOR EACH ROW EXECUTE FUNCTION session_rules();
`,
  },
];
