import type { BaseTool, Event } from "@google/adk";
import type { FunctionCall } from "@google/genai";
import type { JsonObject } from "../../stores/index.ts";
import { describeError } from "../support/index.ts";
import { asParsed, isJson, notRun, parseArguments, shownText } from "./bound-arguments.ts";
import { addMetadata, metadataOf } from "./event-metadata.ts";
import { callsOf } from "./history.ts";

/**
 * The input of one call. The tool's schema is applied once, when the model has made the call; what comes out is shown,
 * judged by policies, stored in the ledger and given to the tool function of a free call. A schema that gives another value
 * each time makes no difference then.
 */
export class CallInput {
  /** What the model sent, as JSON text. */
  readonly raw: string;
  /** What the tool function gets, as JSON text. */
  readonly text: string;
  /** The error for arguments that the tool refuses. They are shown as the model sent them. */
  readonly error: { error: string } | undefined;
  /** True when readers of the chat see this input. */
  isShown: boolean;
  readonly #tool: BaseTool;
  readonly #parsed: JsonObject | undefined;

  constructor(tool: BaseTool, args: JsonObject, { replacesOther = false } = {}) {
    this.#tool = tool;
    let raw = "{}";
    try {
      raw = shownText(args);
      this.#parsed = parseArguments(tool, JSON.parse(raw) as JsonObject);
      this.text = shownText(this.#parsed);
    } catch (error) {
      this.text = raw;
      this.error = argumentsError(tool, error);
    }
    this.raw = raw;
    this.isShown = this.text === raw && !replacesOther;
  }

  /** The input as JSON. */
  get shown(): JsonObject {
    return JSON.parse(this.text) as JsonObject;
  }

  /** The value for the tool function and for policies, or what the model sent if the tool refuses it. */
  value(): JsonObject {
    if (!this.#parsed) return this.shown;
    // Each reader gets a value of its own, so that none can change what another gets.
    if (isJson(this.#parsed)) return asParsed(this.#tool, this.shown);
    const again = parseArguments(this.#tool, JSON.parse(this.raw) as JsonObject);
    if (shownText(again) === this.text) return asParsed(this.#tool, again);
    // A schema that gives another value each time has made only one that was shown. It cannot be copied.
    if (shownText(this.#parsed) !== this.text) throw notRun("were changed by a policy");
    return asParsed(this.#tool, this.#parsed);
  }

  /** True for the tool whose schema was applied. */
  isFor(tool: BaseTool): boolean {
    return tool === this.#tool;
  }

  /** True when these are the arguments that the model sent, unchanged. */
  isOf(args: JsonObject): boolean {
    return isJson(args) && JSON.stringify(args) === this.raw;
  }
}

/** What the model reads about arguments that the tool refuses, in ADK's form. */
export function argumentsError({ name }: BaseTool, error: unknown): { error: string } {
  return { error: `Error in tool '${name}': ${describeError(error)}` };
}

/** Inputs by the arguments that ADK passes around; it never copies them (K24). */
const inputs = new WeakMap<JsonObject, CallInput>();

/** The input of a call. If its arguments have been changed since it was read, it is read again. */
export function inputOf(tool: BaseTool, args: JsonObject): CallInput {
  const known = inputs.get(args);
  // An agent of plain code may make several calls with the same object.
  if (known?.isFor(tool) && known.isOf(args)) return known;
  const input = new CallInput(tool, args, { replacesOther: known !== undefined });
  inputs.set(args, input);
  return input;
}

/** Reads the inputs of calls that the model has just made, before they are shown. */
export function readInputs(calls: readonly FunctionCall[], tools: Record<string, BaseTool>): void {
  for (const call of calls) {
    const tool = call.name !== undefined && Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
    if (!tool) continue;
    const args = call.args ?? {};
    const { text, raw } = inputOf(tool, args);
    // Arguments that the model left out have no object yet that the input could belong to.
    if (text !== raw) call.args = args;
  }
}

/** Attaches inputs to the event that makes the calls, where they differ from what the model sent. */
export function attachInputs(event: Event): void {
  const attached = callsOf(event).flatMap(({ id, args }) => {
    const input = args && inputs.get(args);
    if (!input?.isOf(args ?? {})) return [];
    input.isShown = true;
    return input.text === input.raw ? [] : [{ id, input: input.shown }];
  });
  // A model or another server may have sent such metadata itself.
  if (attached.length > 0 || metadataOf(event).inputs) addMetadata(event, { inputs: attached });
}
