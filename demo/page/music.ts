/**
 * Two short loops made from oscillators, so the demo needs no audio files. Notes are scheduled a little ahead on the
 * audio clock, because a timer alone is not precise enough.
 */
export type Track = 1 | 2;

export interface MusicState {
  track: Track | undefined;
  /** False while the browser does not allow sound, because the person has not clicked on the page since it loaded. */
  audible: boolean;
}

export interface Music {
  /** Starts a track and returns whether it can be heard. */
  play(track: Track): Promise<boolean>;
  stop(): void;
  subscribe(listener: () => void): () => void;
  state(): MusicState;
}

interface Loop {
  /** Seconds per step. */
  step: number;
  wave: OscillatorType;
  gain: number;
  /** Semitones from A3 (220 Hz) per step; null is a rest. */
  melody: readonly (number | null)[];
  bass: readonly (number | null)[];
}

const loops: Record<Track, Loop> = {
  1: {
    step: 0.3,
    wave: "sine",
    gain: 0.16,
    melody: [
      0, 7, 12, 16, 12, 7, 4, 7, -4, 3, 8, 12, 8, 3, 0, 3, -2, 5, 10, 14, 10, 5, 2, 5, -5, 2, 7, 11, 14, 11, 7, 2,
    ],
    bass: [-12, ...rests(7), -16, ...rests(7), -14, ...rests(7), -17, ...rests(7)],
  },
  2: {
    step: 0.16,
    wave: "triangle",
    gain: 0.2,
    melody: [12, null, 15, 12, null, 19, 17, null, 15, null, 12, 10, null, 12, null, null],
    bass: [-12, null, -12, null, -12, null, -9, -10, -17, null, -17, null, -14, null, -14, null],
  },
};

const lookAheadSeconds = 0.5;
const tickMs = 120;
const audibleWithinMs = 400;

/** The page's one player. */
export function createMusic(): Music {
  const listeners = new Set<() => void>();
  let state: MusicState = { track: undefined, audible: false };
  let context: AudioContext | undefined;
  let output: GainNode | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  const set = (next: MusicState) => {
    state = next;
    for (const listener of listeners) listener();
  };

  const silence = () => {
    clearInterval(timer);
    if (output && context) {
      output.gain.setTargetAtTime(0, context.currentTime, 0.04);
      const old = output;
      setTimeout(() => old.disconnect(), 400);
    }
    output = undefined;
  };

  return {
    async play(track) {
      silence();
      context ??= new AudioContext();
      const running = await Promise.race([
        context.resume().then(() => true),
        new Promise<boolean>((resolve) => setTimeout(resolve, audibleWithinMs, false)),
      ]);
      output = new GainNode(context, { gain: loops[track].gain });
      output.connect(context.destination);
      timer = startLoop(context, output, loops[track]);
      set({ track, audible: running });
      if (!running) void context.resume().then(() => state.track === track && set({ track, audible: true }));
      return running;
    },
    stop() {
      silence();
      set({ track: undefined, audible: false });
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    state: () => state,
  };
}

function startLoop(context: AudioContext, output: AudioNode, loop: Loop): ReturnType<typeof setInterval> {
  let step = 0;
  let at = context.currentTime + 0.05;
  const fill = () => {
    // Timers run rarely in a background tab. Skip the missed notes instead of playing them all at once.
    at = Math.max(at, context.currentTime + 0.02);
    while (at < context.currentTime + lookAheadSeconds) {
      const high = loop.melody[step % loop.melody.length];
      const low = loop.bass[step % loop.bass.length];
      if (high != null)
        playNote(context, output, { wave: loop.wave, semitone: high, at, seconds: loop.step * 2.2, level: 0.7 });
      if (low != null)
        playNote(context, output, { wave: "sine", semitone: low, at, seconds: loop.step * 3.5, level: 1 });
      step += 1;
      at += loop.step;
    }
  };
  fill();
  return setInterval(fill, tickMs);
}

function playNote(
  context: AudioContext,
  output: AudioNode,
  note: { wave: OscillatorType; semitone: number; at: number; seconds: number; level: number },
): void {
  const oscillator = new OscillatorNode(context, { type: note.wave, frequency: 220 * 2 ** (note.semitone / 12) });
  const envelope = new GainNode(context, { gain: 0 });
  envelope.gain.setValueAtTime(0, note.at);
  envelope.gain.linearRampToValueAtTime(note.level, note.at + 0.015);
  envelope.gain.exponentialRampToValueAtTime(0.001, note.at + note.seconds);
  oscillator.connect(envelope).connect(output);
  oscillator.start(note.at);
  oscillator.stop(note.at + note.seconds);
}

function rests(count: number): null[] {
  return Array.from({ length: count }, () => null);
}
