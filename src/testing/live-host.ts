import type { LiveConversation } from "./live-conversation.ts";
import type { LiveClientMessage, LiveSetup } from "./live-messages.ts";
import type { RequestBody } from "./read-ask.ts";
import type { GeminiResponseEnd, Piece } from "./script.ts";

/** How live sessions behave beyond what the rules say. */
export interface LiveSettings {
  /** Whether the model waits for the responses to its calls, whatever the declarations of the tools say. Default: as they say. */
  readonly behavior?: "BLOCKING" | "NON_BLOCKING";
  /** Closes the connection instead of completing the setup, as Gemini does for a wrong key or an unknown model. Default: it accepts every setup. */
  readonly refuse?: { readonly code: number; readonly reason: string };
  /** Accepts the setup and never completes it. Default false. */
  readonly silent?: boolean;
}

/** One live session, which is one WebSocket, as a test sees it. */
export interface LiveSession {
  /** The setup; undefined until it has come. */
  readonly setup: LiveSetup | undefined;
  /** The model that the setup names, without `models/`. */
  readonly model: string | undefined;
  /** The last messages of the client in order, at most 1,000, beginning with the setup while it is among them. */
  readonly messages: readonly LiveClientMessage[];
  /** What Gemini would refuse: responses without an open call, calls or responses in the history, bad messages. */
  readonly errors: readonly string[];
  /** Whether the socket is open. */
  readonly open: boolean;
  /** The code with which the socket was closed; 1006 if it was lost. Undefined while it is open. */
  readonly closeCode: number | undefined;
  /** The close code, when the socket has closed. */
  readonly closed: Promise<number>;
  /** Sends any server message, whether or not the model is speaking. */
  send(message: Readonly<Record<string, unknown>>): void;
  /** Closes the socket. */
  close(code: number, reason?: string): void;
  /** Breaks the connection: the client sees 1006. */
  drop(): void;
}

/** What a live session needs from the scripted Gemini it belongs to. */
export interface LiveHost {
  readonly delayMs: number;
  readonly strictPairing: boolean;
  readonly settings: LiveSettings;
  /** Records a request to the model. */
  startRequest(body: RequestBody, model: string, errors: readonly string[]): StartedRequest;
  onMessage(message: LiveClientMessage, session: LiveSession): void;
  /** A new handle with which this conversation can be resumed. */
  issueHandle(conversation: LiveConversation): string;
  /** The conversation of a handle that was issued. */
  resume(handle: string): LiveConversation | undefined;
}

/** A request that was recorded: what the script says to it, and the place to report how that ended. */
export interface StartedRequest {
  pieces(): Promise<readonly Piece[]>;
  ended(end: GeminiResponseEnd): void;
}
