/**
 * The types of an agent's tools, for the page. They exist only for the compiler: `defineTool`, `clientTool` and
 * `defineAgent` note them, and `useAgentChat<typeof agent>` reads them.
 */

declare const toolType: unique symbol;
declare const toolTypes: unique symbol;

/** The input and output types of tools, by their names. */
export type ToolTypes = Record<string, { input: unknown; output: unknown }>;

/** A tool with its types. */
export interface TypedTool<Name extends string, Input, Output> {
  readonly [toolType]?: { name: Name; input: Input; output: Output };
}

/** An agent with the types of its tools. */
export interface TypedAgent<Tools extends ToolTypes> {
  readonly [toolTypes]?: Tools;
}

type TypeOf<Tool> = Tool extends { readonly [toolType]?: infer Type } ? NonNullable<Type> : never;

/** The types of the tools in a list. Tools without types are left out. */
export type ToolTypesIn<Tools extends readonly unknown[]> = {
  [Type in TypeOf<Tools[number]> as Type extends { name: infer Name extends string } ? Name : never]: Type extends {
    input: infer Input;
    output: infer Output;
  }
    ? { input: Input; output: Output }
    : never;
};

/** The types of an agent's tools; of any other value, those of any tool. */
export type ToolTypesOf<Agent> = [NotedTypes<Agent>] extends [never] ? ToolTypes : NotedTypes<Agent>;

/** The types that an agent has noted. */
type NotedTypes<Agent> = Agent extends { readonly [toolTypes]?: infer Tools }
  ? NonNullable<Tools> extends infer Noted extends ToolTypes
    ? Noted
    : never
  : never;

/** The types of the tools of an agent and of the agents below it. Agents without types are left out. */
export type ToolTypesBelow<Tools extends readonly unknown[], Agents extends readonly unknown[]> = Merged<
  ToolTypesIn<Tools> | NotedTypes<Agents[number]>
>;

type Merged<Types> = { [Name in KeysOf<Types>]: Extract<EntriesOf<Types, Name>, ToolTypes[string]> };
type KeysOf<Types> = Types extends unknown ? keyof Types & string : never;
type EntriesOf<Types, Name> = Types extends unknown ? (Name extends keyof Types ? Types[Name] : never) : never;

/** A value after it was written as JSON and read again: dates are texts, and functions are left out. */
export type AsJson<Value> = unknown extends Value
  ? Value
  : Value extends { toJSON(): infer Written }
    ? Written
    : Value extends string | number | boolean | null
      ? Value
      : Value extends bigint
        ? string
        : Value extends NotJson
          ? never
          : Value extends readonly unknown[]
            ? { [Index in keyof Value]: AsJson<Value[Index]> }
            : Value extends object
              ? { [Key in keyof Value as Value[Key] extends NotJson ? never : Key]: AsJson<Value[Key]> }
              : never;

type NotJson = undefined | symbol | ((...given: never[]) => unknown);

/** What the page gets of what a tool returned: always an object, in ADK's form. */
export type OutputOf<Returned> = unknown extends Returned
  ? Returned
  : Returned extends null | undefined | void
    ? { result?: null }
    : Returned extends readonly unknown[]
      ? { results: AsJson<Returned> }
      : Returned extends object
        ? ObjectOf<AsJson<Returned>>
        : { result: AsJson<Returned> };

/** The same of a browser tool. */
export type ClientOutputOf<Returned> = unknown extends Returned
  ? Returned
  : Returned extends readonly unknown[]
    ? { result: AsJson<Returned> }
    : OutputOf<Returned>;

type ObjectOf<Written> = Written extends object ? Written : { result: Written };
