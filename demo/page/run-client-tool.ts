import type { ClientCall } from "./client-tools.ts";
import { locate } from "./locate.ts";
import type { Music } from "./music.ts";

export type ClientResult = { output: unknown } | { errorText: string };

/** Runs one browser call. If the tool fails, the error text is a sentence that the model can repeat to the person. */
export async function runClientTool(call: ClientCall, music: Music): Promise<ClientResult> {
  try {
    switch (call.toolName) {
      case "change_bgm": {
        const track = trackOf(call.input);
        return { output: { track, playing: await music.play(track) } };
      }
      case "get_location":
        return { output: await locate() };
      default:
        return { errorText: `This page has no tool named ${call.toolName}.` };
    }
  } catch (error) {
    return { errorText: error instanceof Error ? error.message : String(error) };
  }
}

function trackOf(input: unknown): 1 | 2 {
  const track = Number((input as { track?: unknown } | null)?.track);
  if (track === 1 || track === 2) return track;
  throw new Error("There are two tracks, 1 and 2.");
}
