import type { LiveConversation } from "./live-conversation.ts";
import type { LiveClientMessage, LiveSetup } from "./live-messages.ts";
import type { RequestBody } from "./read-ask.ts";
import type { GeminiReplyEnd, Piece } from "./script.ts";

/** How the live wire behaves beyond what the rules say. */
export interface LiveSettings {
  /** Makes every tool one the model does not wait for, or one it does, whatever its declaration says. */
  readonly behavior?: "BLOCKING" | "NON_BLOCKING";
  /** Closes instead of completing the setup, as a wrong key or an unknown model does. */
  readonly refuse?: { readonly code: number; readonly reason: string };
  /** Takes the setup and never completes it. */
  readonly silent?: boolean;
}

/** One socket, as a test sees it. */
export interface LiveSession {
  /** Undefined until it came. */
  readonly setup: LiveSetup | undefined;
  /** Without `models/`. */
  readonly model: string | undefined;
  /** Everything the client sent, in order, the setup first. */
  readonly messages: readonly LiveClientMessage[];
  /** What Gemini would refuse: responses that pair with no open call, calls or responses in history, bad messages. */
  readonly errors: readonly string[];
  readonly open: boolean;
  /** The code the socket was closed with; 1006 where nobody said one. */
  readonly closeCode: number | undefined;
  readonly closed: Promise<number>;
  /** Sends any message of the server's, also while the model has nothing to say. */
  send(message: Readonly<Record<string, unknown>>): void;
  close(code: number, reason?: string): void;
  /** The connection is lost: the client sees 1006. */
  drop(): void;
}

/** What a session needs of the scripted Gemini around it. */
export interface LiveHost {
  readonly delayMs: number;
  readonly strictPairing: boolean;
  readonly settings: LiveSettings;
  /** Writes down what the model is asked. */
  ask(body: RequestBody, model: string, errors: readonly string[]): Asked;
  onMessage(message: LiveClientMessage, session: LiveSession): void;
  /** A handle under which this conversation can be taken up. */
  issueHandle(conversation: LiveConversation): string;
  takeUp(handle: string): LiveConversation | undefined;
}

/** One question to the script. */
export interface Asked {
  pieces(): Promise<readonly Piece[]>;
  ended(end: GeminiReplyEnd): void;
}
