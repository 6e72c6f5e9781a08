import { isToolUIPart, type UIMessage } from "ai";
import type { ClientTools } from "adk-stream-protocol/react";
import { createContext } from "react";
import { locate } from "./locate.ts";
import type { Music } from "./music.ts";

/** Whether the server is the demo's. Other servers may have tools of their own with the names of the demo's. */
export const DemoContext = createContext(false);

/** The names of the tools that run in this page. */
export const browserTools: ReadonlySet<string> = new Set(["change_bgm", "get_location"]);

/** The code of these tools. The messages are those of the chat at the time of a call. */
export function createBrowserTools(music: Music, messages: () => readonly UIMessage[]): ClientTools {
  return {
    async change_bgm({ track }: { track: unknown }) {
      const wanted = Number(track);
      if (wanted !== 1 && wanted !== 2) throw new Error("There are two tracks, 1 and 2.");
      return { track: wanted, playing: await music.play(wanted) };
    },
    async get_location(_input, { toolCallId }) {
      // The server asks for a yes, and the hook waits for it. A mistake of the server must not share the location either.
      if (!hasYes(messages(), toolCallId)) throw new Error("The location is shared only after a yes.");
      return locate();
    },
  };
}

function hasYes(messages: readonly UIMessage[], toolCallId: string): boolean {
  return messages.some(({ parts }) =>
    parts.some((part) => isToolUIPart(part) && part.toolCallId === toolCallId && part.approval?.approved === true),
  );
}
