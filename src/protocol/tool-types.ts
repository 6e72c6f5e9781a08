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
export type ToolTypesOf<Agent> = Agent extends { readonly [toolTypes]?: infer Tools }
  ? unknown extends Tools
    ? ToolTypes
    : NonNullable<Tools> extends ToolTypes
      ? NonNullable<Tools>
      : ToolTypes
  : ToolTypes;
