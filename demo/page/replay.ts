import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { LogLine } from "./read-log.ts";

/** What a player of a log shows. */
export interface ReplayState {
  messages: readonly UIMessage[];
  /** How many lines have been played. */
  position: number;
  isPlaying: boolean;
  speed: number;
  /** The time of the last line that was played, by the server's clock then. */
  at: number;
}

/** Plays a log: builds its messages line by line, at the pace at which they were written or faster. */
export interface Replay {
  readonly length: number;
  state(): ReplayState;
  subscribe(listener: () => void): () => void;
  play(): void;
  pause(): void;
  setSpeed(speed: number): void;
  /** Shows the conversation as it was after so many lines. */
  seek(position: number): void;
}

export interface ReplayOptions {
  /** Calls back later. Returns a function that cancels it. */
  later?: (callback: () => void, ms: number) => () => void;
  /** Delays a redraw, so that many lines at once cause only one. */
  schedule?: (draw: () => void) => void;
}

/** A person's hour of thinking takes this long in a replay. */
const maxPauseMs = 1500;

/** Prepares a log. It is paused at its beginning. */
export function createReplay(lines: readonly LogLine[], options: ReplayOptions = {}): Replay {
  const { later = setLater, schedule = (draw) => setTimeout(draw, 30) } = options;
  const listeners = new Set<() => void>();
  let state: ReplayState = { messages: [], position: 0, isPlaying: false, speed: 1, at: lines[0]?.at ?? 0 };
  let cancel = () => {};
  let build = startBuild();

  const change = (changes: Partial<ReplayState>) => {
    state = { ...state, ...changes };
    for (const listener of listeners) listener();
  };

  function startBuild(): Build {
    let isScheduled = false;
    const started: Build = createBuild(() => {
      if (isScheduled) return;
      isScheduled = true;
      schedule(() => {
        isScheduled = false;
        if (started === build) change({ messages: started.messages() });
      });
    });
    return started;
  }

  /** Plays lines up to a position, without pauses. */
  const advance = (position: number) => {
    for (let index = state.position; index < position; index += 1) {
      const line = lines[index];
      if (line?.kind === "withdraw") restart(index + 1);
      else if (line) build.add(line);
    }
    change({ position, at: lines[position - 1]?.at ?? lines[0]?.at ?? 0 });
  };

  /** Builds the first lines again. Needed to go back, and for a withdrawal: chunks cannot be taken out of a message. */
  const restart = (position: number) => {
    build.end();
    build = startBuild();
    const left = standing(lines.slice(0, position));
    if (left.length === 0) change({ messages: [] });
    for (const line of left) build.add(line);
  };

  const playNext = () => {
    cancel();
    if (!state.isPlaying) return;
    if (state.position >= lines.length) {
      change({ isPlaying: false });
      return;
    }
    const next = lines[state.position];
    const pause = state.position === 0 || !next ? 0 : Math.max(0, next.at - state.at);
    cancel = later(
      () => {
        advance(state.position + 1);
        playNext();
      },
      Math.min(pause, maxPauseMs) / state.speed,
    );
  };

  const seek = (position: number) => {
    const target = Math.min(Math.max(Math.trunc(position), 0), lines.length);
    if (target < state.position) {
      restart(target);
      change({ position: target, at: lines[target - 1]?.at ?? lines[0]?.at ?? 0 });
    } else advance(target);
    playNext();
  };

  return {
    length: lines.length,
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    play() {
      if (state.isPlaying) return;
      if (state.position >= lines.length) seek(0);
      change({ isPlaying: true });
      playNext();
    },
    pause() {
      cancel();
      change({ isPlaying: false });
    },
    setSpeed(speed) {
      change({ speed });
      playNext();
    },
    seek,
  };
}

/** The lines that are left after the withdrawals among them. */
function standing(lines: readonly LogLine[]): LogLine[] {
  const left: LogLine[] = [];
  for (const line of lines) {
    if (line.kind !== "withdraw") left.push(line);
    else while ((left.at(-1)?.sequence ?? 0) >= line.from) left.pop();
  }
  return left;
}

interface Build {
  messages(): readonly UIMessage[];
  add(line: LogLine): void;
  end(): void;
}

/** Builds messages with AI SDK's own reader: one stream for each turn, which is fed as the lines come. */
function createBuild(onChange: () => void): Build {
  const messages = new Map<string, UIMessage>();
  /** The ids in the order in which their turns began: a reply may be built after the next message has come. */
  const order: string[] = [];
  let isOver = false;
  const turns = new Map<string, ReadableStreamDefaultController<UIMessageChunk>>();
  /** Turns of the same message follow each other: the next one goes on with what the one before has built. */
  const work = new Map<string, Promise<void>>();

  const put = (message: UIMessage) => {
    if (isOver) return;
    messages.set(message.id, message);
    onChange();
  };

  const open = (turn: string, reply: string) => {
    let input: ReadableStreamDefaultController<UIMessageChunk> | undefined;
    const stream = new ReadableStream<UIMessageChunk>({ start: (controller) => void (input = controller) });
    if (!input) return;
    turns.set(turn, input);
    const before = work.get(reply) ?? Promise.resolve();
    const read = async () => {
      await before;
      const known = messages.get(reply);
      const message = known ? structuredClone(known) : { id: reply, role: "assistant" as const, parts: [] };
      for await (const next of readUIMessageStream({ message, stream, terminateOnError: true })) put(next);
    };
    // A chunk that does not fit ends its turn. The turns after it are played.
    work.set(
      reply,
      read().catch(() => undefined),
    );
  };

  return {
    messages: () => [...new Set(order)].flatMap((id) => messages.get(id) ?? []),
    add(line) {
      if (line.kind === "begin") {
        if (line.message) {
          order.push(line.message.id);
          put(line.message);
        }
        order.push(line.reply);
        open(line.turn, line.reply);
      }
      try {
        if (line.kind === "chunk") turns.get(line.turn)?.enqueue(asShown(line.chunk));
        if (line.kind === "end") turns.get(line.turn)?.close();
      } catch {
        // The reader of this turn has ended because of a chunk that does not fit.
        turns.delete(line.turn);
      }
      if (line.kind === "end") turns.delete(line.turn);
    },
    end() {
      isOver = true;
    },
  };
}

/** An error would end the stream. A message has it as metadata, as the server's stored messages do. */
function asShown(chunk: UIMessageChunk): UIMessageChunk {
  return chunk.type === "error" ? { type: "message-metadata", messageMetadata: { error: chunk.errorText } } : chunk;
}

function setLater(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
