/**
 * Small helpers that know nothing of chats, agents or approvals: waiting with a limit, ids, logging, measuring.
 */
export { abortable, type AbortableWaits, stepThrough, withWaits } from "./abortable.ts";
export { aside, inPlace } from "./aside.ts";
export { atMost } from "./at-most.ts";
export { checkNumber, showValue } from "./check-number.ts";
export { DecisionsFirst } from "./decisions-first.ts";
export { newId } from "./ids.ts";
export { isMeasured } from "./instruments.ts";
export { metrics } from "./metrics.ts";
export { MinuteWindow } from "./minute-window.ts";
export { Slots } from "./slots.ts";
export {
  consoleLogger,
  type ConsoleLoggerOptions,
  createConsoleLogger,
  describeError,
  type Logger,
  silentLogger,
} from "./logger.ts";
export { tryAgain } from "./try-again.ts";
export { within } from "./within.ts";
export { yieldEvery } from "./yield-every.ts";
