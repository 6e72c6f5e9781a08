import type { Context, Event } from "@google/adk";
import { responsesOf } from "./history.ts";

/**
 * A tool may ask for a credential (`requestCredential`). ADK would store the request with the client's secret inside, show
 * nothing to the user, and give the model the tool's "pending" as a result. This server cannot ask a person for a
 * credential, so the request is removed before it is stored or sent, and the call has failed.
 */

const refusal =
  "The tool needs a credential, which this server cannot ask for. Configure the tool with a credential of its own.";

/** Removes what the call asked for. Returns the error that the call ends with, if it asked for a credential. */
export function refuseCredentialRequest({ actions }: Pick<Context, "actions">): { error: string } | undefined {
  const asked = Object.keys(actions.requestedAuthConfigs ?? {});
  for (const id of asked) delete actions.requestedAuthConfigs[id];
  return asked.length > 0 ? { error: refusal } : undefined;
}

/** The same for an event: a callback after the gate's may ask too. */
export function refuseCredentialRequests(event: Event): void {
  const asked = Object.keys(event.actions?.requestedAuthConfigs ?? {});
  if (asked.length === 0) return;
  event.actions.requestedAuthConfigs = {};
  for (const response of responsesOf(event))
    if (asked.includes(response.id ?? "")) response.response = { error: refusal };
}
