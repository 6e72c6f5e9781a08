import { actionDigest, BridgeError, canonicalJson, isSettled } from "../../protocol/index.ts";
import type { NewApproval, Store } from "../../stores/index.ts";
import { callKey } from "../adk/idempotency-key.ts";
import type { CallHolder, HeldCall } from "../adk/run-scope.ts";
import { type Logger, newId } from "../support/index.ts";
import { createSurely } from "./create-surely.ts";
import { makeCard } from "./make-card.ts";
import type { Policies } from "./policies.ts";
import { releaseCall } from "./release-call.ts";
import type { UnseenQuestions } from "./unseen-questions.ts";

export interface HoldOptions {
  store: Store;
  policies: Policies;
  /** How long a person has to answer. */
  approvalTtlMs: number;
  /** How long after a yes a call may still start. */
  startMs: number;
  /** How many questions a chat may have open. */
  maxPending: number;
  /** How many calls without an outcome there may be, and how many calls in one model response. */
  limits?: WaitingLimits;
  /** Limits the questions that are asked while the user is away. */
  unseen?: UnseenQuestions;
  logger: Logger;
}

interface WaitingLimits {
  waitingCalls: number;
  waitingCallsPerOwner: number;
  waitingCallsPerChat: number;
  callsPerResponse: number;
}

/** How long the result of a call may be reported after it has begun, unless its policy says otherwise. */
const defaultReportMs = 24 * 60 * 60_000;

/** Decides by policy which calls are held, and makes their rows. The gate in `adk/` uses it. */
export function holdCalls({ store, policies, unseen, logger, limits: waiting, ...limits }: HoldOptions): CallHolder {
  const callLimits = {
    maxPending: limits.maxPending,
    maxWaiting: waiting?.waitingCallsPerChat,
    maxWaitingOfOwner: waiting?.waitingCallsPerOwner,
    maxWaitingInAll: waiting?.waitingCalls,
  };
  return {
    callsPerResponse: waiting?.callsPerResponse ?? Infinity,

    policyWantsApproval: (call, run) => policies.wantsApproval(call, run),

    hasTimeLimit: (toolName) => policies.get(toolName)?.timeoutMs !== undefined,

    async hold(call, run, refuseStopped) {
      const { args, rawArgs, declared, hasRun, isReported, ...fields } = call;
      if (unseen && call.gated && run.isUnattended()) await unseen.refusePast(run.chat);
      const id = newId("apr");
      const input = canonicalJson(args);
      const rawInput = canonicalJson(rawArgs);
      const { chat, owner, mode } = run;
      const { toolCallId, toolName } = call;
      const policy = policies.get(toolName) ?? {};
      const shown = Object.keys(args);
      const card = call.gated ? await makeCard(policy, { toolName, input, shown, declared, logger }) : undefined;
      const digest = await actionDigest({ approvalId: id, owner, chat, toolCallId, toolName, input: args });
      const made: NewApproval = {
        ...fields,
        id,
        input,
        ...(rawInput !== input && { rawInput }),
        ...(card && { card }),
        chat,
        owner,
        mode,
        requestedBy: run.actor(),
        messageId: run.messageId(),
        digest,
        effect: policy.effect ?? "opaque",
        state: firstState(call),
        // The tool was given this key before the call had a row.
        ...((!call.gated || hasRun) && { idempotencyKey: callKey(call.session, toolCallId) }),
        ttlMs: policy.expiresMs ?? limits.approvalTtlMs,
        // An agent waits as long as its own calls do, and those expire themselves.
        startMs: call.innerSession === undefined ? (policy.startMs ?? limits.startMs) : Number.POSITIVE_INFINITY,
        ...(isReported && { reportMs: policy.reportMs ?? defaultReportMs }),
      };
      const row = await createSurely(async () => {
        refuseStopped();
        return store.createApproval(made, callLimits);
      });
      // This `toolCallId` may have a row already. Only the very same call may use it; for any other, no one is asked and nothing runs.
      if (row.id !== id && (row.input !== input || row.toolName !== toolName || isSettled(row.state)))
        throw new BridgeError("conflict", `The id ${toolCallId} was used before, for a call of ${row.toolName}.`);
      return row;
    },

    async callIds(session) {
      return (await store.listApprovals({ session })).map(({ toolCallId }) => toolCallId);
    },

    release: (approval, isLeft) => releaseCall(approval, isLeft, { store, logger }),
  };
}

/** A call that no one is asked about has begun if it runs elsewhere. Other calls are started by the executor. */
function firstState({ gated, external, innerSession }: HeldCall): NewApproval["state"] {
  if (gated) return "pending";
  return external && innerSession === undefined ? "waiting" : "approved";
}
