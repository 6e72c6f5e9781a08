/** Describes a declaration for the reference: its signature, its comment and its members. */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import type { TSInterfaceHeritage } from "oxc-parser";
import {
  type DeclarationFile,
  type DeclarationNode,
  type Declared,
  findDeclaration,
  type Origin,
  readDeclarationFile,
} from "./declaration-file.ts";

export type Kind = "function" | "class" | "interface" | "type" | "value";

/** A property, method or constructor. */
export interface Member {
  name: string;
  signature: string;
  isOptional: boolean;
  comment: string | undefined;
  /** The interface that has it, if it is inherited. */
  from: string | undefined;
}

export interface Description {
  name: string;
  kind: Kind;
  comment: string | undefined;
  signature: string;
  members: Member[];
  /** The source file, from the root of the project. */
  source: string;
  /** Types of this package that the signature and the members name. */
  uses: Origin[];
}

const kinds: Readonly<Record<string, Kind>> = {
  TSInterfaceDeclaration: "interface",
  TSTypeAliasDeclaration: "type",
  ClassDeclaration: "class",
  TSDeclareFunction: "function",
};

/** Describes a declaration under the name that it is exported with. `dist` is the folder of the `.d.ts` files. */
export function describe(dist: string, name: string, origin: Origin): Description {
  const file = readDeclarationFile(origin.file);
  const declared = file.declarations.get(origin.name) ?? [];
  const [first] = declared;
  if (!first) throw new Error(`${origin.file} does not declare ${origin.name}.`);
  const members = membersOf(file, first.node);
  const signature = declared.map(({ node }) => signatureOf(file, node)).join("\n");
  const described = [signature, ...members.map((member) => member.signature)].join("\n");
  return {
    name,
    kind: kinds[first.node.type] ?? "value",
    comment: commentOf(declared),
    signature,
    members,
    source: sourceOf(dist, origin.file),
    uses: usedTypes(file, described, origin.name, first.node),
  };
}

/** The source of a `.d.ts` file, from the root of the project. */
function sourceOf(dist: string, file: string): string {
  const source = `src/${relative(dist, file).replace(/\.d\.ts$/, "")}`;
  return existsSync(join(dist, "..", `${source}.tsx`)) ? `${source}.tsx` : `${source}.ts`;
}

function commentOf(declared: readonly Declared[]): string | undefined {
  return declared.find(({ comment }) => comment !== undefined)?.comment;
}

/** The declaration as code. Members of interfaces and classes are described one by one instead. */
function signatureOf(file: DeclarationFile, node: DeclarationNode): string {
  if (node.type === "TSInterfaceDeclaration" || node.type === "ClassDeclaration")
    return file.text
      .slice(node.start, node.body.start)
      .replace(/^declare /, "")
      .trim();
  return dedent(file.text.slice(node.start, node.end).replace(/^declare /, ""));
}

function membersOf(file: DeclarationFile, node: DeclarationNode): Member[] {
  if (node.type === "ClassDeclaration") return readMembers(file, node.body.body);
  if (node.type === "TSInterfaceDeclaration") {
    const own = readMembers(file, node.body.body);
    const inherited = node.extends.flatMap((parent) => inheritedMembers(file, parent));
    return [...own, ...inherited.filter(({ name }) => !own.some((member) => member.name === name))];
  }
  if (node.type !== "TSTypeAliasDeclaration") return [];
  const { typeAnnotation } = node;
  if (typeAnnotation.type === "TSTypeLiteral") return readMembers(file, typeAnnotation.members);
  if (typeAnnotation.type !== "TSTypeReference" || typeAnnotation.typeName.type !== "Identifier") return [];
  return inheritedMembers(file, { expression: typeAnnotation.typeName, typeArguments: typeAnnotation.typeArguments });
}

type Parent = Pick<TSInterfaceHeritage, "expression" | "typeArguments">;

/** The members of an interface of ours, also through `Omit`. */
function inheritedMembers(file: DeclarationFile, { expression, typeArguments }: Parent): Member[] {
  if (expression.type !== "Identifier") return [];
  const [first, second] = typeArguments?.params ?? [];
  if (
    expression.name === "Omit" &&
    first?.type === "TSTypeReference" &&
    first.typeName.type === "Identifier" &&
    second
  ) {
    const omitted = new Set(
      [...file.text.slice(second.start, second.end).matchAll(/"(\w+)"/g)].map(([, name]) => name),
    );
    const all = inheritedMembers(file, { expression: first.typeName, typeArguments: null });
    return all.filter(({ name }) => !omitted.has(name));
  }
  const origin = findDeclaration(file.path, expression.name);
  if (!origin) return [];
  const parent = readDeclarationFile(origin.file);
  const [declared] = parent.declarations.get(origin.name) ?? [];
  const members = declared ? membersOf(parent, declared.node) : [];
  return members.map((member) => ({ ...member, from: member.from ?? expression.name }));
}

interface MemberNode {
  type: string;
  start: number;
  end: number;
  key?: { type: string; name?: string; value?: unknown };
  optional?: boolean;
  accessibility?: string | null;
}

function readMembers(file: DeclarationFile, nodes: readonly object[]): Member[] {
  return (nodes as readonly MemberNode[]).flatMap((node) => {
    if (node.key?.type === "PrivateIdentifier" || node.accessibility === "private") return [];
    const signature = dedent(file.text.slice(node.start, node.end)).replace(/;$/, "");
    const name = node.key ? (node.key.name ?? String(node.key.value)) : (signature.split(/[:(]/)[0] ?? signature);
    const comment = file.commentBefore(node.start);
    return { name, signature, isOptional: node.optional === true, comment, from: undefined };
  });
}

/** Our own types that a text names, except the one that is described. */
function usedTypes(file: DeclarationFile, text: string, own: string, node: DeclarationNode): Origin[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const names = new Set([...code.matchAll(/(?<![.\w"])[A-Z]\w+/g)].map(([name]) => name));
  const parents = node.type === "TSInterfaceDeclaration" ? parentsOf(file, node) : [];
  return [...names].flatMap((name) => {
    if (name === own) return [];
    const found = [file, ...parents].map(({ path }) => findDeclaration(path, name)).find((origin) => origin);
    return found ?? [];
  });
}

/** The files of the interfaces that an interface extends: their members name types of those files. */
function parentsOf(file: DeclarationFile, node: DeclarationNode): DeclarationFile[] {
  if (node.type !== "TSInterfaceDeclaration") return [];
  return node.extends.flatMap(({ expression }) => {
    const origin = expression.type === "Identifier" ? findDeclaration(file.path, expression.name) : undefined;
    return origin ? readDeclarationFile(origin.file) : [];
  });
}

/** Removes the indentation that all lines after the first share, and makes the rest two spaces wide. */
function dedent(text: string): string {
  const [first = "", ...rest] = text.split("\n");
  const indents = rest.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const least = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  const shared = rest.length > 0 && rest.at(-1)?.trim().startsWith("}") ? least : 0;
  const lines = rest.map((line) => line.slice(shared).replace(/^(?: {4})+/, (spaces) => " ".repeat(spaces.length / 2)));
  return [first, ...lines].join("\n");
}
