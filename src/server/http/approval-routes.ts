import { StateConflict } from "../../agent/index.ts";
import {
  approvalStates,
  BridgeError,
  parseDecisionRequest,
  parseReportRequest,
  parseResolutionRequest,
} from "../../protocol/index.ts";
import { jsonResponse } from "./json-response.ts";
import { pageOf } from "./page-limit.ts";
import { readBody } from "./read-body.ts";
import type { Route, RouteContext } from "./route.ts";

const maxDecisionBytes = 64 * 1024;

/** The ledger, and decisions, resolutions and reports made outside a chat request. */
export function approvalRoutes({ bridge, maxBodyBytes }: RouteContext): Route[] {
  return [
    {
      path: /^\/approvals$/,
      methods: {
        async GET({ url, identity }) {
          const state = url.searchParams.get("state") ?? undefined;
          const known = approvalStates.find((name) => name === state);
          if (state !== undefined && !known)
            throw new BridgeError(
              "invalid",
              `state must be one of ${approvalStates.join(", ")}; ${JSON.stringify(state)} is not.`,
            );
          const { searchParams } = url;
          const chat = searchParams.get("chat") ?? undefined;
          return jsonResponse(await bridge.approvals(identity, { chat, state: known, ...pageOf(searchParams) }));
        },
      },
    },
    {
      path: /^\/approvals\/([^/]+)$/,
      methods: {
        async POST({ request, identity, id }) {
          const decision = parseDecisionRequest(await readBody(request, maxDecisionBytes));
          const { outcome, approval } = await bridge.decide(identity, { approvalId: id, ...decision });
          if (outcome !== "refused") return jsonResponse({ state: approval.state, approval });
          throw new StateConflict(`Approval ${id} is ${approval.state}; this answer came too late.`, approval);
        },
      },
    },
    {
      path: /^\/approvals\/([^/]+)\/resolution$/,
      methods: {
        async POST({ request, identity, id }) {
          const resolution = parseResolutionRequest(await readBody(request, maxDecisionBytes));
          const approval = await bridge.resolve(identity, { approvalId: id, ...resolution });
          return jsonResponse({ state: approval.state, approval });
        },
      },
    },
    {
      path: /^\/calls\/([^/]+)$/,
      methods: {
        async POST({ request, owner, id }) {
          const report = parseReportRequest(await readBody(request, maxBodyBytes));
          const approval = await bridge.settle(owner, id, report);
          return jsonResponse({ state: approval.state, approval });
        },
      },
    },
  ];
}
