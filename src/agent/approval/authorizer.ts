import type { ApprovalView, Decision, Identity } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { atMost, describeError, type Logger } from "../support/index.ts";
import { approvalToView } from "./outcome.ts";

/**
 * Says whether an actor may make this decision. Only `true` allows it. Without this hook every actor of the chat's owner
 * may decide. With it the hook alone says who may: it is asked about actors of the owner and of other owners alike.
 */
export type Authorize = (actor: string, approval: ApprovalView, decision: Decision) => boolean | Promise<boolean>;

export interface AuthorizerOptions {
  authorize: Authorize | undefined;
  logger: Logger;
  /** How long the hook may take. What it has not allowed by then is not allowed. */
  limitMs?: number;
}

/** How many questions a list asks the hook at once. */
const asksAtOnce = 8;

/** Who may decide about an approval. A hook that throws, hangs or returns anything but `true` allows nothing. */
export class Authorizer {
  readonly #authorize: Authorize | undefined;
  readonly #logger: Logger;
  readonly #limitMs: number;

  constructor({ authorize, logger, limitMs = 5000 }: AuthorizerOptions) {
    this.#authorize = authorize;
    this.#logger = logger;
    this.#limitMs = limitMs;
  }

  /** True if the owner of a chat and those who may decide in it can be different. */
  get hasHook(): boolean {
    return this.#authorize !== undefined;
  }

  /** True if this identity may make this decision. Never throws. */
  async allows({ owner, actor }: Identity, row: Approval, { approved, reason }: NewDecision): Promise<boolean> {
    if (!this.#authorize) return row.owner === owner;
    const decision = { approvalId: row.id, approved, ...(reason !== undefined && { reason }) };
    const allowed = await this.#ask(this.#authorize, actor, row, decision).catch((error: unknown) => {
      this.#warn({ approval: row.id, error: describeError(error) });
      return false;
    });
    if (!allowed) this.#logger.info("A decision was not allowed.", { approval: row.id, approved });
    return allowed;
  }

  /** The rows that this actor may approve or deny, as far as the hook says so in time. */
  async decidable(actor: string, rows: readonly Approval[]): Promise<Approval[]> {
    const authorize = this.#authorize;
    if (!authorize) return [];
    const allowed = new Set<string>();
    const failures: unknown[] = [];
    const left = rows.values();
    let isOver = false;
    const work = async () => {
      for (const row of left) {
        for (const approved of [true, false]) {
          if (isOver) return;
          const ask = this.#ask(authorize, actor, row, { approvalId: row.id, approved });
          if (await ask.catch((error: unknown) => void failures.push(error))) {
            allowed.add(row.id);
            break;
          }
        }
      }
    };
    await atMost(this.#limitMs, Promise.all(Array.from({ length: asksAtOnce }, work)));
    isOver = true;
    if (failures.length > 0) this.#warn({ times: failures.length, error: describeError(failures[0]) });
    return rows.filter(({ id }) => allowed.has(id));
  }

  async #ask(authorize: Authorize, actor: string, row: Approval, decision: Decision): Promise<boolean> {
    let said: { value: unknown } | undefined;
    const ask = async () => {
      // Each call gets a view of its own, so that the hook cannot change what is decided about.
      said = { value: await authorize(actor, approvalToView(row), decision) };
    };
    await atMost(this.#limitMs, ask());
    if (!said) throw new Error(`It did not return within ${this.#limitMs} ms.`);
    if (typeof said.value !== "boolean") throw new TypeError(`It must return true or false, not ${typeof said.value}.`);
    return said.value;
  }

  #warn(fields: Record<string, unknown>): void {
    this.#logger.warn("The authorize hook failed; what it was asked about is not allowed.", fields);
  }
}

type NewDecision = Omit<Decision, "approvalId">;
