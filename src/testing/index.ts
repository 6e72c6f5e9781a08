export { geminiAt } from "./gemini-at.ts";
export type { LiveClientMessage } from "./live-messages.ts";
export type { LiveSession, LiveSettings } from "./live-host.ts";
export type { ScriptedLive } from "./live-wire.ts";
export { pairingErrors } from "./pairing-errors.ts";
export {
  blocked,
  call,
  cancelCalls,
  citation,
  closeWith,
  code,
  codeResult,
  drop,
  fail,
  file,
  finish,
  gate,
  goAway,
  grounding,
  inlineData,
  interrupted,
  part,
  pause,
  text,
  thought,
  usage,
  type Ask,
  type GeminiResponseEnd,
  type Piece,
  type Rule,
  type ToolResponse,
} from "./script.ts";
export type { GeminiRequest } from "./request-record.ts";
export { startScriptedGemini, type ScriptedGemini, type ScriptedGeminiOptions } from "./scripted-gemini.ts";
