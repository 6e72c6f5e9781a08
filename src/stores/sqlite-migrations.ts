/**
 * The tables of the SQLite store. `PRAGMA user_version` counts the migrations that ran: to change a table, append one and
 * leave the others as they are.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE session (
    id        TEXT PRIMARY KEY,
    chat      TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    owner     TEXT NOT NULL,
    name      TEXT,
    appName   TEXT NOT NULL,
    state     TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    updatedAt INTEGER NOT NULL,
    UNIQUE (owner, name),
    CHECK ((name IS NULL) = (chat <> id))
  ) STRICT;
  CREATE INDEX session_of_chat ON session (chat);

  CREATE TABLE event (
    session   TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    id        TEXT NOT NULL,
    event     TEXT NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, position)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX event_id ON event (session, id) WHERE withdrawn = 0;

  CREATE TABLE response (
    session  TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    callId   TEXT NOT NULL,
    position INTEGER NOT NULL,
    UNIQUE (session, callId)
  ) STRICT;
  CREATE INDEX response_of_event ON response (session, position);

  CREATE TABLE log (
    chat     TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    entry    TEXT NOT NULL,
    PRIMARY KEY (chat, sequence)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE openTurn (
    opened   INTEGER PRIMARY KEY,
    chat     TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    turn     TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    UNIQUE (chat, turn)
  ) STRICT;

  CREATE TABLE approval (
    created        INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    chat           TEXT NOT NULL,
    session        TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    owner          TEXT NOT NULL,
    toolCallId     TEXT NOT NULL,
    toolName       TEXT NOT NULL,
    input          TEXT NOT NULL,
    digest         TEXT NOT NULL,
    messageId      TEXT NOT NULL,
    agent          TEXT NOT NULL,
    branch         TEXT,
    hint           TEXT,
    payload        TEXT,
    external       INTEGER NOT NULL,
    effect         TEXT NOT NULL,
    gated          INTEGER NOT NULL,
    startMs        INTEGER NOT NULL,
    innerSession   TEXT,
    createdAt      INTEGER NOT NULL,
    expiresAt      INTEGER NOT NULL,
    idempotencyKey TEXT NOT NULL UNIQUE,
    state          TEXT NOT NULL,
    startBy        INTEGER,
    decidedAt      INTEGER,
    decidedBy      TEXT,
    decisionKey    TEXT,
    reason         TEXT,
    fence          INTEGER NOT NULL,
    leaseOwner     TEXT,
    leaseUntil     INTEGER,
    outcome        TEXT,
    stateDelta     TEXT,
    finishedAt     INTEGER,
    told           INTEGER NOT NULL,
    dueAt          INTEGER,
    UNIQUE (session, toolCallId)
  ) STRICT;
  CREATE INDEX approval_of_chat ON approval (chat, state);
  CREATE INDEX approval_of_owner ON approval (owner);
  CREATE INDEX approval_due ON approval (dueAt) WHERE dueAt IS NOT NULL;

  CREATE TABLE audit (
    chat       TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    sequence   INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    approvalId TEXT NOT NULL,
    event      TEXT NOT NULL,
    state      TEXT NOT NULL,
    by         TEXT,
    digest     TEXT NOT NULL,
    hash       TEXT NOT NULL,
    PRIMARY KEY (chat, sequence)
  ) STRICT, WITHOUT ROWID;
  `,
  // Until here the mode of a call was known from its id, or from the call its agent works for, which names the session;
  // and the key that an ungated tool was given was not in its row.
  `
  ALTER TABLE approval ADD COLUMN mode TEXT NOT NULL DEFAULT 'request' CHECK (mode IN ('request', 'live'));
  UPDATE approval SET mode = 'live' WHERE toolCallId LIKE 'live-%' OR session LIKE '%~live-%';
  ALTER TABLE approval ADD COLUMN rawInput TEXT;
  UPDATE OR IGNORE approval SET idempotencyKey = session || ':' || toolCallId WHERE gated = 0;
  `,
  // Until here a call that had begun and waited for a report was `executing`, or `approved` if it ran outside; it had the
  // time to answer a question for it. It gets a day from its beginning.
  `
  ALTER TABLE approval ADD COLUMN requestedBy TEXT;
  ALTER TABLE approval ADD COLUMN toolHash TEXT;
  ALTER TABLE approval ADD COLUMN card TEXT;
  ALTER TABLE approval ADD COLUMN reportMs INTEGER;
  ALTER TABLE approval ADD COLUMN reportBy INTEGER;
  ALTER TABLE approval ADD COLUMN interim TEXT;
  ALTER TABLE approval ADD COLUMN actions TEXT;
  ALTER TABLE approval ADD COLUMN resolvedBy TEXT;
  ALTER TABLE approval ADD COLUMN shown INTEGER;
  DROP INDEX approval_due;
  CREATE INDEX approval_due ON approval (dueAt, state) WHERE dueAt IS NOT NULL;
  UPDATE approval SET reportMs = 86400000
    WHERE innerSession IS NULL AND (external = 1 OR state IN ('pending', 'approved'));
  UPDATE approval SET state = 'waiting', reportBy = coalesce(decidedAt, createdAt) + 86400000,
    dueAt = coalesce(decidedAt, createdAt) + 86400000
    WHERE state = 'approved' AND external = 1 AND innerSession IS NULL;
  `,
  // Until here a chat's messages were read from its whole log, and chunks were kept for ever. `foldLogs` fills the tables
  // `message` and `endedTurn`, and gives chats a title, from existing logs. `deletion` has a row for each deletion whose
  // words may still be in unused parts of the file.
  `
  ALTER TABLE session ADD COLUMN title TEXT;
  ALTER TABLE session ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE session ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE message (
    chat     TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    role     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    message  TEXT NOT NULL,
    PRIMARY KEY (chat, sequence, id)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX message_id ON message (chat, id);
  CREATE INDEX message_of_role ON message (chat, role, sequence);
  CREATE INDEX chat_of_owner ON session (owner, updatedAt, id) WHERE name IS NOT NULL;
  CREATE TABLE file (
    chat      TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id        TEXT NOT NULL,
    mediaType TEXT NOT NULL,
    name      TEXT,
    size      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    data      BLOB NOT NULL,
    UNIQUE (chat, id)
  ) STRICT;
  CREATE INDEX file_id ON file (id);
  CREATE INDEX approval_untold ON approval (chat) WHERE told = 0;
  CREATE INDEX approval_of_agent ON approval (innerSession) WHERE innerSession IS NOT NULL;
  ALTER TABLE approval ADD COLUMN placedIn TEXT;
  CREATE INDEX approval_of_message ON approval (chat, coalesce(placedIn, messageId));
  CREATE INDEX approval_of_call ON approval (toolCallId);
  CREATE INDEX chat_by_age ON session (updatedAt) WHERE name IS NOT NULL;
  CREATE INDEX session_deleted ON session (id) WHERE deleted = 1;
  CREATE TABLE endedTurn (
    chat     TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    turn     TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (chat, last)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX endedTurn_by_age ON endedTurn (at);
  CREATE TABLE auditHash (
    chat     TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    PRIMARY KEY (chat, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE deletion (
    id INTEGER PRIMARY KEY
  ) STRICT;
  `,
  // Until here the chats of all apps shared their names. SQLite cannot change the constraint of a table, so `session` is
  // written anew, with an index in its place.
  `
  CREATE TABLE session_of_app (
    id        TEXT PRIMARY KEY,
    chat      TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    owner     TEXT NOT NULL,
    name      TEXT,
    appName   TEXT NOT NULL,
    state     TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    updatedAt INTEGER NOT NULL,
    title     TEXT,
    revision  INTEGER NOT NULL DEFAULT 0,
    deleted   INTEGER NOT NULL DEFAULT 0,
    CHECK ((name IS NULL) = (chat <> id))
  ) STRICT;
  INSERT INTO session_of_app (id, chat, owner, name, appName, state, createdAt, updatedAt, title, revision, deleted)
    SELECT id, chat, owner, name, appName, state, createdAt, updatedAt, title, revision, deleted FROM session;
  DROP TABLE session;
  ALTER TABLE session_of_app RENAME TO session;
  CREATE UNIQUE INDEX chat_name ON session (owner, name, appName) WHERE name IS NOT NULL;
  CREATE INDEX session_of_chat ON session (chat);
  CREATE INDEX chat_of_owner ON session (owner, appName, updatedAt, id) WHERE name IS NOT NULL;
  CREATE INDEX chat_by_age ON session (appName, updatedAt) WHERE name IS NOT NULL;
  CREATE INDEX session_deleted ON session (id) WHERE deleted = 1;
  ALTER TABLE approval ADD COLUMN appName TEXT NOT NULL DEFAULT '';
  UPDATE approval SET appName = coalesce((SELECT appName FROM session WHERE id = approval.chat), '');
  DROP INDEX approval_due;
  CREATE INDEX approval_due ON approval (appName, dueAt, state) WHERE dueAt IS NOT NULL;
  ALTER TABLE endedTurn ADD COLUMN appName TEXT NOT NULL DEFAULT '';
  UPDATE endedTurn SET appName = coalesce((SELECT appName FROM session WHERE id = endedTurn.chat), '');
  DROP INDEX endedTurn_by_age;
  CREATE INDEX endedTurn_by_age ON endedTurn (appName, at);
  `,
];
