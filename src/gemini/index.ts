export * from "./script.ts";
export { startScriptedGemini, type ScriptedGemini, type GeminiRequest } from "./scripted-gemini.ts";
export { geminiAt } from "./gemini-at.ts";
export { pairingErrors } from "./pairing-errors.ts";
