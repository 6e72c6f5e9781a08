export { demoRules } from "./demo-script.ts";
export { geminiAt } from "./gemini-at.ts";
export { pairingErrors } from "./pairing-errors.ts";
export {
  blocked,
  call,
  citation,
  code,
  codeResult,
  drop,
  fail,
  file,
  finish,
  gate,
  grounding,
  inlineData,
  part,
  pause,
  text,
  thought,
  usage,
  type Ask,
  type Piece,
  type Rule,
  type ToolResponse,
} from "./script.ts";
export {
  startScriptedGemini,
  type GeminiReplyEnd,
  type GeminiRequest,
  type ScriptedGemini,
  type ScriptedGeminiOptions,
} from "./scripted-gemini.ts";
