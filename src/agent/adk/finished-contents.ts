import {
  type BaseAgent,
  BaseLlmRequestProcessor,
  CONTENT_REQUEST_PROCESSOR,
  type Event,
  type InvocationContext,
  isLlmAgent,
  type LlmRequest,
} from "@google/adk";
import type { Content } from "@google/genai";
import { agentsBelow } from "./agents.ts";
import type { EventCache } from "./event-cache.ts";
import { structureBytes } from "./heap-bytes.ts";
import { callsOf, isSummary, responsesOf } from "./history.ts";
import { copyContent, type KnownContent, knownContent } from "./same-content.ts";

/**
 * K35. For each request ADK makes the contents of the whole history again: it looks at every event several times and
 * clones every content. The contents of finished turns stay the same. They are made once, by ADK, and each request gets a
 * copy of its own, because callbacks may change what is sent.
 */

/** The contents of the finished turns at the beginning of a history. They are never changed. */
export interface FinishedTurns {
  readonly events: readonly Event[];
  readonly contents: readonly KnownContent[];
  /** The ids of all calls in these events. */
  readonly calls: ReadonlySet<string | undefined>;
  /**
   * The texts of the contents in the body of a request, by the client that made it (`request-texts.ts`). Longer histories
   * of the same chat share them: the places stay the same.
   */
  readonly texts: WeakMap<object, KnownTexts>;
  /** Counts the memory of what is kept with them. */
  readonly charge: (bytes: number) => void;
}

/** What a client has written of the finished turns of a history. */
export interface KnownTexts {
  /** By the place of the content. */
  each: (string | undefined)[];
  /** The first so many of them, joined with commas. */
  joined: { count: number; text: string };
}

const nothing = { events: [], contents: [], calls: new Set<string>() };

/** What a content takes besides its own objects: a {@link KnownContent}, and a place in each of several lists. */
const knownBytes = 128;

const finishedIn = new WeakMap<readonly Content[], FinishedTurns>();

/** The finished turns that the contents of a request begin with, if callbacks left their array in place. */
export function finishedTurnsIn(contents: readonly Content[]): FinishedTurns | undefined {
  return finishedIn.get(contents);
}

/** Where the memory of a session's contents is counted. */
type Budget = Pick<EventCache, "charge">;

/** Not a closure inside the method: what is kept would keep the whole InvocationContext in memory. */
function chargeTo(budget: Budget, sessionId: string): FinishedTurns["charge"] {
  return (bytes) => budget.charge(sessionId, bytes);
}

/** Lets every agent below `root` make its contents with {@link FinishedContents}. Processors of the application stay. */
export function rememberContents(root: BaseAgent, budget: Budget, minEvents = 50): void {
  const remembered = new FinishedContents(budget, minEvents);
  for (const agent of agentsBelow(root)) {
    if (!isLlmAgent(agent)) continue;
    agent.requestProcessors = agent.requestProcessors.map((processor) =>
      processor === CONTENT_REQUEST_PROCESSOR ? remembered : processor,
    );
  }
}

/** Makes the contents of requests as ADK does, and remembers those of finished turns. */
export class FinishedContents extends BaseLlmRequestProcessor {
  readonly #budget: Budget;
  readonly #minEvents: number;
  /** By their last event and their reader. They are removed with the event, which the cache of events holds. */
  readonly #known = new WeakMap<Event, Map<string, FinishedTurns>>();

  /** Shorter histories are left to ADK: there is little to gain. */
  constructor(budget: Budget, minEvents: number) {
    super();
    this.#budget = budget;
    this.#minEvents = minEvents;
  }

  override async *runAsync(context: InvocationContext, request: LlmRequest): AsyncGenerator<Event, void, void> {
    const finished = await this.#finishedTurns(context);
    if (!finished) {
      yield* CONTENT_REQUEST_PROCESSOR.runAsync(context, request);
      return;
    }
    const rest = await contentsOf(context.session.events.slice(finished.events.length), context);
    request.contents = [...finished.contents.map(copyContent), ...rest];
    finishedIn.set(request.contents, finished);
  }

  /** The finished turns of a history. Undefined if ADK has to see the whole history. */
  async #finishedTurns(context: InvocationContext): Promise<FinishedTurns | undefined> {
    const { agent, branch, isolationScope, session } = context;
    if (!agent || !isLlmAgent(agent) || agent.includeContents !== "default") return undefined;
    if (session.events.length < this.#minEvents) return undefined;
    const reader = JSON.stringify([agent.name, branch, isolationScope]);
    const charge = chargeTo(this.#budget, session.id);
    const known = this.#find(session.events, reader) ?? { ...nothing, texts: new WeakMap(), charge };
    const added = finishedSince(session.events, known);
    if (!added) return undefined;
    if (added.end === known.events.length) return known.events.length > 0 ? known : undefined;
    const next = session.events[added.end];
    // Before anything is waited for: of two that continue the same history, only one may go on with its texts.
    this.#forget(known, reader);
    // ADK treats the last event in a special way, so the message that follows is added and left out again.
    const events = session.events.slice(known.events.length, added.end);
    const contents = await contentsOf(next ? [...events, next] : events, context);
    const more = contents.slice(0, -1);
    const finished: FinishedTurns = {
      events: session.events.slice(0, added.end),
      contents: [...known.contents, ...more.map(knownContent)],
      calls: added.calls,
      texts: known.texts,
      charge,
    };
    this.#keep(finished, reader);
    // Their texts are those of the events.
    charge(structureBytes(more) + more.length * knownBytes);
    return finished;
  }

  /** What is known of the beginning of a history. The same event objects mean the same contents: they are frozen. */
  #find(events: readonly Event[], reader: string): FinishedTurns | undefined {
    for (let end = events.length; end > 0; end -= 1) {
      const last = events[end - 1];
      const known = last && this.#known.get(last)?.get(reader);
      if (known?.events.length === end && known.events.every((event, index) => event === events[index])) return known;
    }
    return undefined;
  }

  #forget({ events }: FinishedTurns, reader: string): void {
    const last = events.at(-1);
    if (last) this.#known.get(last)?.delete(reader);
  }

  #keep(finished: FinishedTurns, reader: string): void {
    const last = finished.events.at(-1);
    if (!last) return;
    const readers = this.#known.get(last) ?? new Map<string, FinishedTurns>();
    this.#known.set(last, readers.set(reader, finished));
  }
}

/**
 * Where the finished turns of a history end: before a message of the user, when every call before it has its response and
 * nothing that follows belongs to one of these calls. Undefined if the history cannot be divided.
 */
function finishedSince(
  events: readonly Event[],
  known: FinishedTurns,
): { end: number; calls: ReadonlySet<string | undefined> } | undefined {
  const open = new Set<string | undefined>();
  const calls = new Set(known.calls);
  let end = known.events.length;
  let isFrozen = true;
  for (const [index, event] of events.entries()) {
    if (index < known.events.length) continue;
    // A summary stands for events by their time, wherever they are.
    if (isSummary(event)) return undefined;
    if (isFrozen && open.size === 0 && index > 0 && isMessage(event)) end = index;
    for (const { id } of responsesOf(event)) if (!open.delete(id)) return undefined;
    for (const { id } of callsOf(event)) {
      if (calls.has(id)) return undefined;
      calls.add(id);
      open.add(id);
    }
    isFrozen &&= Object.isFrozen(event);
  }
  return { end, calls };
}

/** True for a message of the user that every agent gets. */
function isMessage({ author, content, branch, isolationScope }: Event): boolean {
  if (author !== "user" || content?.role !== "user" || branch !== undefined || isolationScope !== undefined)
    return false;
  return Boolean(content.parts?.[0]?.text) && !content.parts?.some(({ functionResponse }) => functionResponse);
}

/** The contents that ADK makes of some events. */
async function contentsOf(events: Event[], context: InvocationContext): Promise<Content[]> {
  const request: LlmRequest = { contents: [], toolsDict: {}, liveConnectConfig: {} };
  const session = { ...context.session, events };
  const view = Object.create(context, { session: { value: session } }) as InvocationContext;
  for await (const _ of CONTENT_REQUEST_PROCESSOR.runAsync(view, request)) continue;
  return request.contents;
}
