import { actionDigest, BridgeError, canonicalJson, isSettled } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import { callKey } from "../adk/idempotency-key.ts";
import type { CallHolder, HeldCall } from "../adk/run-scope.ts";
import { describeError, type Logger, newId } from "../support/index.ts";
import { cancelFamily } from "./family.ts";
import type { ToolPolicies } from "./policy.ts";
import type { UnseenQuestions } from "./unseen-questions.ts";

export interface HoldOptions {
  store: Store;
  policies: ToolPolicies;
  /** How long a person has to answer. */
  approvalTtlMs: number;
  /** How long after a yes a call may still start. */
  startMs: number;
  /** How many questions a chat may have open. */
  maxPending: number;
  /** Limits the questions that are asked while the user is away. */
  unseen?: UnseenQuestions;
  logger: Logger;
}

/** Decides by policy which calls are held, and makes their rows. The gate in `adk/` uses it. */
export function holdCalls({ store, policies, unseen, logger, ...limits }: HoldOptions): CallHolder {
  return {
    /** If a policy throws, a person is asked. */
    async policyWantsApproval(toolName, args) {
      const confirm = policies.get(toolName)?.confirm;
      if (typeof confirm !== "function") return Boolean(confirm);
      try {
        // A predicate in plain JavaScript may return any value.
        const asks: unknown = await confirm(args());
        return Boolean(asks);
      } catch (error) {
        logger.warn("The policy of a tool threw; its call is held.", { tool: toolName, error: describeError(error) });
        return true;
      }
    },

    async hold(call, run) {
      const { args, rawArgs, hasRun, ...fields } = call;
      if (unseen && call.gated && run.isUnattended()) await unseen.refusePast(run.chat);
      const id = newId("apr");
      const input = canonicalJson(args);
      const rawInput = canonicalJson(rawArgs);
      const { chat, owner, mode } = run;
      const { toolCallId, toolName } = call;
      const row = await store.createApproval(
        {
          ...fields,
          id,
          input,
          ...(rawInput !== input && { rawInput }),
          chat,
          owner,
          mode,
          messageId: run.messageId(),
          digest: await actionDigest({ approvalId: id, owner, chat, toolCallId, toolName, input: args }),
          effect: policies.get(toolName)?.effect ?? "opaque",
          state: call.gated ? "pending" : "approved",
          // The tool was given this key before the call had a row.
          ...((!call.gated || hasRun) && { idempotencyKey: callKey(call.session, toolCallId) }),
          ttlMs: limits.approvalTtlMs,
          startMs: startSpan(call, limits),
        },
        { maxPending: limits.maxPending },
      );
      // This `toolCallId` may have a row already. Only the very same call may use it; for any other, no one is asked and nothing runs.
      if (row.id !== id && (row.input !== input || row.toolName !== toolName || isSettled(row.state)))
        throw new BridgeError("conflict", `The id ${toolCallId} was used before, for a call of ${row.toolName}.`);
      return row;
    },

    async callIds(session) {
      return (await store.listApprovals({ session })).map(({ toolCallId }) => toolCallId);
    },

    async cancelUnshown(approval: Approval) {
      await store.move(approval.id, { event: "cancel", reason: "The call could not be shown." });
      await store.markTold(approval.id);
      // An agent may have asked before it was interrupted. Nothing would tell the model what a yes leads to.
      await cancelFamily(approval, store);
    },
  };
}

/** How long after a yes a call may start. An agent waits as long as its own calls do, and those expire themselves. */
function startSpan(
  { external, innerSession }: HeldCall,
  { approvalTtlMs, startMs }: Pick<HoldOptions, "approvalTtlMs" | "startMs">,
): number {
  if (innerSession !== undefined) return Number.POSITIVE_INFINITY;
  return external ? approvalTtlMs : startMs;
}
