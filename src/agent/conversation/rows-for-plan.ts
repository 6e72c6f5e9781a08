import type { Event } from "@google/adk";
import type { Approval, Store } from "../../stores/index.ts";
import { lastContent, openCalls, responsesOf } from "../adk/history.ts";
import { withFamilies } from "../approval/family.ts";

/**
 * The rows of a chat that a plan can depend on: those that the model has not been told about, those of open calls and of
 * the response that the history ends with, and what belongs to them. A long chat has many others.
 */
export async function rowsForPlan(chat: string, events: readonly Event[], store: Store): Promise<Approval[]> {
  const last = lastContent(events);
  const about = [
    ...openCalls(events).map(({ call }) => call.id),
    ...(last ? responsesOf(last).flatMap(({ id }) => id ?? []) : []),
  ];
  const untold = await store.listApprovals({ chat, told: false });
  const named = about.length > 0 ? await store.listApprovals({ chat, about }) : [];
  return withFamilies([...untold, ...named], store);
}
