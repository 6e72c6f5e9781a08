import {
  BaseSessionService,
  createEvent,
  createEventActions,
  createSession,
  getFunctionResponses,
  trimTempDeltaState,
  type AppendEventRequest,
  type CreateSessionRequest,
  type DeleteSessionRequest,
  type Event,
  type GetSessionRequest,
  type ListSessionsResponse,
  type Session as AdkSession,
} from "@google/adk";
import type { JsonObject, Session, Store } from "../../stores/index.ts";
import { EventCache } from "./event-cache.ts";

/**
 * ADK's sessions on our store. The store keeps events in append order and enforces one response per call; a second one
 * fails with `AlreadyResponded`, which means that another process continues the same step.
 */
export class StoreSessionService extends BaseSessionService {
  readonly #store: Store;
  readonly #cache: EventCache;

  constructor(store: Store, cache = new EventCache(store)) {
    super();
    this.#store = store;
    this.#cache = cache;
  }

  async createSession({ appName, userId, sessionId, state }: CreateSessionRequest): Promise<AdkSession> {
    const chat = await this.#store.openChat({ owner: userId, name: sessionId ?? crypto.randomUUID(), appName });
    const session = toAdkSession(chat, await this.#cache.events(chat));
    // State is part of an event, so the initial state needs an event without content.
    if (state && Object.keys(state).length > 0)
      await this.appendEvent({
        session,
        event: createEvent({ author: "user", actions: createEventActions({ stateDelta: state }) }),
      });
    return session;
  }

  async getSession({ userId, sessionId, config }: GetSessionRequest): Promise<AdkSession | undefined> {
    const session = await this.#store.getSession(sessionId);
    if (!session || session.owner !== userId) return undefined;
    let events = await this.#cache.events(session);
    const after = config?.afterTimestamp;
    if (after !== undefined) events = events.filter(({ timestamp }) => timestamp >= after);
    if (config?.numRecentEvents !== undefined) events = events.slice(-config.numRecentEvents);
    return toAdkSession(session, events);
  }

  /** A session in ADK's form. */
  async load(session: Session): Promise<AdkSession> {
    const { appName, owner, id } = session;
    const loaded = await this.getSession({ appName, userId: owner, sessionId: id });
    if (!loaded) throw new Error(`Session ${id} is gone.`);
    return loaded;
  }

  /** ADK never calls this; owners list their chats through the bridge. */
  async listSessions(): Promise<ListSessionsResponse> {
    return { sessions: [], page: 1, limit: 0, totalItems: 0, totalPages: 0 };
  }

  async deleteSession({ userId, sessionId }: DeleteSessionRequest): Promise<void> {
    const session = await this.#store.getSession(sessionId);
    if (session?.owner === userId) await this.#store.deleteSession(sessionId);
  }

  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const trimmed = trimTempDeltaState(event);
    await this.#store.appendEvent(session.id, {
      id: trimmed.id,
      event: structuredJson(trimmed),
      responses: getFunctionResponses(trimmed).flatMap(({ id }) => (id ? [id] : [])),
      stateDelta: trimmed.actions?.stateDelta,
    });
    return super.appendEvent({ session, event: trimmed });
  }
}

function toAdkSession(session: Session, events: Event[]): AdkSession {
  return createSession({
    id: session.id,
    appName: session.appName,
    userId: session.owner,
    state: session.state,
    events,
    lastUpdateTime: session.updatedAt,
  });
}

/** Stores keep JSON, so symbols and `undefined` are removed here. */
function structuredJson(event: Event): JsonObject {
  return JSON.parse(JSON.stringify(event)) as JsonObject;
}
