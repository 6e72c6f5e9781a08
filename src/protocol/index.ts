export * from "./approval.ts";
export {
  type ApprovalCard,
  type CardField,
  type CardTone,
  cardTones,
  type FieldFormat,
  fieldFormats,
  type LocalText,
  textIn,
} from "./card.ts";
export { cleanTitle, maxTitleLength, titleOf } from "./chat-title.ts";
export { errorTable } from "./error-table.ts";
export { BridgeError, type ErrorCode, isNotFound, retryAfterOf } from "./errors.ts";
export { type Identity, isName, nameRule, type OwnerOrIdentity, toIdentity } from "./identity.ts";
export { canonicalJson, defaultJsonLimits, type JsonLimits } from "./canonical-json.ts";
export { actionDigest, digest, type Action } from "./digest.ts";
export { FoldedMessage, foldMessage } from "./fold-message.ts";
export { fileAddress, fileIdOf, isLargeOutput, type LargeOutput } from "./large-output.ts";
export { parseJson, type ParseLimits } from "./parse-json.ts";
export type { ToolTypes, ToolTypesIn, ToolTypesOf, TypedAgent, TypedTool } from "./tool-types.ts";
export { toSafeJson } from "./safe-json.ts";
export { decodeSse, encodeSseEvent, sseComment, sseDone, type SseEvent } from "./sse.ts";
export { mixedScripts, visibleText, type VisibleRun } from "./visible-text.ts";
export {
  type AiSdkFrame,
  type BridgeFrame,
  type ChatChange,
  type ChatRequest,
  type ChatRequestMessage,
  type ClientFrame,
  type ControlFrame,
  type DecisionRequest,
  frameVersion,
  isAiSdkFrame,
  parseChatChange,
  parseChatRequest,
  parseDecisionRequest,
  parseReportRequest,
  parseResolutionRequest,
  parseResultRequest,
  parseFrame,
  requestIdOf,
} from "./frames.ts";
