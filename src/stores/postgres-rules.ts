import { approvalEvents, approvalStates, type ApprovalState, transitions } from "../protocol/index.ts";
import { columnOf } from "./postgres-rows.ts";
import { approvalColumns } from "./sqlite-schema.ts";

/**
 * The rules that the database itself enforces, as the bodies of trigger functions. They are derived from the code, and the
 * newest release that has opened the database decides. The store's own code never violates them: they guard against
 * everything else that writes to the tables, such as an old release, a repair script or a shell.
 */
export function postgresRules(schema: string): string {
  const columns = Object.entries(approvalColumns);
  const names = (filter: (name: string, kind: string) => boolean) =>
    columns.filter(([name, kind]) => filter(name, kind)).map(([name]) => columnOf(name));
  const fixed = ["created", ...names((_, kind) => kind === "fixed")];
  const settled = names((name, kind) => kind === "moves" && name !== "told" && name !== "shown");
  const legal = approvalStates.flatMap((from) => targets(from).map((to) => quote(`${from} ${to}`)));
  const terminal = approvalStates.filter((state) => targets(state).length === 0).map(quote);

  return `
CREATE OR REPLACE FUNCTION approval_rules() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema} AS $rules$
BEGIN
  IF TG_OP = 'INSERT' THEN
    ${refuse(
      "NEW.state NOT IN ('pending', 'approved', 'waiting') OR NEW.fence <> 0 OR NEW.told",
      "an approval starts once, pending, approved or waiting",
    )}
    RETURN NEW;
  END IF;
  IF TG_OP = 'DELETE' THEN
    ${refuse(
      "EXISTS (SELECT 1 FROM session WHERE id = OLD.session AND NOT deleted)",
      "an approval stays as long as its session",
    )}
    RETURN OLD;
  END IF;
  ${refuse(changed(fixed), "who asked for what, and until when, never changes")}
  ${refuse(`OLD.state IN (${terminal.join(", ")}) AND (${changed(settled)})`, "a settled approval never changes")}
  ${refuse(
    `OLD.state <> NEW.state AND OLD.state || ' ' || NEW.state NOT IN (${legal.join(", ")})`,
    "no such transition",
  )}
  ${refuse(
    `OLD.state <> 'pending' AND (${changed(["decided_at", "decided_by", "decision_key"])})`,
    "a decision never changes",
  )}
  ${refuse(
    `NEW.fence NOT IN (OLD.fence, OLD.fence + 1)
      OR NEW.fence = OLD.fence AND NEW.state = 'executing' AND OLD.state <> 'executing'
      OR NEW.fence <> OLD.fence AND NEW.state <> 'executing'`,
    "each claim, and nothing else, raises the fence by one",
  )}
  ${refuse(
    "NEW.told < OLD.told AND NOT (OLD.state = 'indeterminate' AND NEW.state <> OLD.state)",
    "told stays told, unless a person resolves the call",
  )}
  RETURN NEW;
END $rules$;

CREATE OR REPLACE FUNCTION audit_rules() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema} AS $rules$
BEGIN
  ${refuse("TG_OP = 'UPDATE'", "an audit entry never changes")}
  ${refuse("TG_TABLE_NAME = 'audit_hash'", "the hash of an audit entry stays")}
  ${refuse("EXISTS (SELECT 1 FROM session WHERE id = OLD.chat AND NOT deleted)", "an audit stays as long as its chat")}
  RETURN OLD;
END $rules$;

-- Foreign keys would check every entry of the log. What belongs to a session goes with it by this.
CREATE OR REPLACE FUNCTION session_rules() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema} AS $rules$
BEGIN
  DELETE FROM event WHERE session = OLD.id;
  DELETE FROM response WHERE session = OLD.id;
  DELETE FROM approval WHERE session = OLD.id;
  IF OLD.id = OLD.chat THEN
    DELETE FROM log WHERE chat = OLD.id;
    DELETE FROM open_turn WHERE chat = OLD.id;
    DELETE FROM ended_turn WHERE chat = OLD.id;
    DELETE FROM message WHERE chat = OLD.id;
    DELETE FROM file WHERE chat = OLD.id;
    DELETE FROM audit WHERE chat = OLD.id;
    DELETE FROM posted WHERE chat = OLD.id;
  END IF;
  RETURN NULL;
END $rules$;
`;
}

function refuse(condition: string, because: string): string {
  return `IF ${condition} THEN RAISE EXCEPTION ${quote(`refused: ${because}`)}; END IF;`;
}

/** The other states that an event can lead to. (A reclaim stays in its state; the rules see it by its fence.) */
function targets(from: ApprovalState): ApprovalState[] {
  const cells = approvalEvents.map((event) => transitions[from][event]);
  return [...new Set(cells.flatMap((cell) => ("to" in cell && cell.to !== from ? [cell.to] : [])))];
}

function changed(columns: readonly string[]): string {
  return columns.map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`).join(" OR ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
