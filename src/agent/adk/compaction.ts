import {
  type BaseAgent,
  BaseLlmRequestProcessor,
  ContextCompactorRequestProcessor,
  type Event,
  type InvocationContext,
  isLlmAgent,
  type LlmRequest,
} from "@google/adk";
import { agentsBelow } from "./agents.ts";
import { callsOf, isSummary, lastContent, openCalls, responsesOf } from "./history.ts";

/**
 * ADK's compactors shorten the history that a run works with: they summarise it, cut it, or prune thoughts. They do not
 * know about calls that wait, and may separate a response from its call, which no request can contain (K29).
 */

/** Guards the compactors of every agent below `root`. ADK has no hook that could do this from outside. */
export function guardCompaction(root: BaseAgent): void {
  for (const agent of agentsBelow(root)) {
    if (!isLlmAgent(agent)) continue;
    agent.requestProcessors = agent.requestProcessors.map((processor) =>
      processor instanceof ContextCompactorRequestProcessor ? new GuardedCompaction(processor) : processor,
    );
  }
}

class GuardedCompaction extends BaseLlmRequestProcessor {
  readonly #compaction: ContextCompactorRequestProcessor;

  constructor(compaction: ContextCompactorRequestProcessor) {
    super();
    this.#compaction = compaction;
  }

  override async *runAsync(context: InvocationContext, request: LlmRequest): AsyncGenerator<Event, void, void> {
    const { events } = context.session;
    const before = [...events];
    const openFrom = firstOpen(before);
    const needed = Math.min(openFrom, neededFrom(before));
    // What follows an open call is taken out meanwhile, so that no compactor sees it.
    const hidden = events.splice(openFrom);
    try {
      for await (const event of this.#compaction.runAsync(context, request)) {
        // A pruned event is not a new one. ADK yields it again, and it would be shown again.
        if (before.some(({ id }) => id === event.id)) continue;
        endBefore(event, before[needed]);
        yield event;
      }
    } finally {
      events.push(...hidden);
    }
    repair(events, before, needed);
  }
}

/** The place of the first event with a call that has no response. */
function firstOpen(events: readonly Event[]): number {
  const [first] = openCalls(events);
  return first ? events.indexOf(first.event) : events.length;
}

/** The place from which on the next request needs everything: the last content, with the call that it answers. */
function neededFrom(events: readonly Event[]): number {
  const last = lastContent(events);
  if (!last) return events.length;
  const answered = new Set(responsesOf(last).map(({ id }) => id));
  const made = events.findIndex((event) => callsOf(event).some(({ id }) => answered.has(id)));
  return made < 0 ? events.indexOf(last) : made;
}

/** Events up to the end of a summary are left out of requests, by time. Some have the same time as what is needed. */
function endBefore(event: Event, needed: Event | undefined): void {
  if (!isSummary(event) || !needed) return;
  const summary = event as Event & { endTime: number };
  summary.endTime = Math.min(summary.endTime, needed.timestamp - 1);
}

/** Puts back what the next request needs, and removes calls whose responses were cut off. */
function repair(events: Event[], before: readonly Event[], needed: number): void {
  const left = new Map(events.map((event) => [event.id, event]));
  const tail = before.slice(needed).map((event) => left.get(event.id) ?? event);
  const tailIds = new Set(tail.map(({ id }) => id));
  const responded = new Set(events.flatMap((event) => responsesOf(event).map(({ id }) => id)));
  const rest = events.filter((event) => !tailIds.has(event.id) && callsOf(event).every(({ id }) => responded.has(id)));
  const isUserText = ({ author, content }: Event) => author === "user" && Boolean(content?.parts?.[0]?.text);
  // A request must begin with the user.
  const asked =
    rest.some((event) => isUserText(event) || isSummary(event)) || tail.some(isUserText)
      ? undefined
      : before.slice(0, needed).findLast(isUserText);
  events.splice(0, events.length, ...rest, ...(asked ? [asked] : []), ...tail);
}
