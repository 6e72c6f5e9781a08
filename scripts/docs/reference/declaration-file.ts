/** Reads one `.d.ts` file: what it declares, with comments, and where its other names come from. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type Class,
  type Comment,
  type Function as FunctionNode,
  parseSync,
  type Statement,
  type TSInterfaceDeclaration,
  type TSTypeAliasDeclaration,
  type VariableDeclaration,
} from "oxc-parser";

/** A statement that declares a name. Overloads of a function are several. */
export interface Declared {
  node: DeclarationNode;
  comment: string | undefined;
}

/** Where a name of a file comes from: a name of another file, or of this one. */
export interface Origin {
  file: string;
  name: string;
}

export interface DeclarationFile {
  path: string;
  text: string;
  declarations: Map<string, Declared[]>;
  imports: Map<string, Origin>;
  exports: Map<string, Origin>;
  /** The files of `export * from`. */
  stars: string[];
  commentBefore: (start: number) => string | undefined;
}

export type DeclarationNode =
  | TSInterfaceDeclaration
  | TSTypeAliasDeclaration
  | Class
  | FunctionNode
  | VariableDeclaration;

const files = new Map<string, DeclarationFile>();

/** Reads a file, once. */
export function readDeclarationFile(path: string): DeclarationFile {
  const known = files.get(path);
  if (known) return known;
  const text = readFileSync(path, "utf8");
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be read: ${errors[0]?.message ?? ""}`);
  const file: DeclarationFile = {
    path,
    text,
    declarations: new Map(),
    imports: new Map(),
    exports: new Map(),
    stars: [],
    commentBefore: (start) => commentBefore(text, comments, start),
  };
  for (const statement of program.body) addStatement(file, statement);
  files.set(path, file);
  return file;
}

/** The declaration that a name of a file stands for, or undefined if it is not one of ours. */
export function findDeclaration(path: string, name: string): Origin | undefined {
  const file = readDeclarationFile(path);
  if (file.declarations.has(name)) return { file: path, name };
  const imported = file.imports.get(name);
  return imported && findExport(imported.file, imported.name);
}

/** The declaration that an exported name stands for. */
function findExport(path: string, name: string): Origin | undefined {
  const file = readDeclarationFile(path);
  const origin = file.exports.get(name);
  if (origin) return origin.file === path ? findDeclaration(path, origin.name) : findExport(origin.file, origin.name);
  for (const star of file.stars) {
    const found = findExport(star, name);
    if (found) return found;
  }
  return undefined;
}

/** Every name that a file exports, with its declaration. */
export function exportsOf(path: string): Map<string, Origin> {
  const file = readDeclarationFile(path);
  const found = new Map<string, Origin>();
  for (const star of file.stars) for (const [name, origin] of exportsOf(star)) found.set(name, origin);
  for (const name of file.exports.keys()) {
    const origin = findExport(path, name);
    if (!origin) throw new Error(`${path} exports ${name}, which has no declaration.`);
    found.set(name, origin);
  }
  return found;
}

function addStatement(file: DeclarationFile, statement: Statement): void {
  switch (statement.type) {
    case "ImportDeclaration": {
      const from = ours(file.path, statement.source.value);
      if (from === undefined) return;
      for (const specifier of statement.specifiers)
        if (specifier.type === "ImportSpecifier")
          file.imports.set(specifier.local.name, { file: from, name: nameOf(specifier.imported) });
      return;
    }
    case "ExportAllDeclaration": {
      const from = ours(file.path, statement.source.value);
      if (from !== undefined) file.stars.push(from);
      return;
    }
    case "ExportNamedDeclaration": {
      const from = statement.source ? ours(file.path, statement.source.value) : file.path;
      for (const { local, exported } of statement.specifiers)
        if (from !== undefined) file.exports.set(nameOf(exported), { file: from, name: nameOf(local) });
      if (!statement.declaration) return;
      for (const name of addDeclaration(file, statement.declaration, statement.start))
        file.exports.set(name, { file: file.path, name });
      return;
    }
    default:
      addDeclaration(file, statement, statement.start);
  }
}

function addDeclaration(file: DeclarationFile, node: Statement, start: number): string[] {
  if (!isDeclaration(node)) return [];
  const names =
    node.type === "VariableDeclaration"
      ? node.declarations.flatMap(({ id }) => (id.type === "Identifier" ? id.name : []))
      : [node.id?.name ?? ""];
  for (const name of names) {
    const declared = file.declarations.get(name) ?? [];
    declared.push({ node, comment: file.commentBefore(start) });
    file.declarations.set(name, declared);
  }
  return names;
}

function isDeclaration(node: Statement): node is DeclarationNode {
  return /^(?:TSInterfaceDeclaration|TSTypeAliasDeclaration|ClassDeclaration|TSDeclareFunction|VariableDeclaration)$/.test(
    node.type,
  );
}

function nameOf(name: { type: string; name?: string; value?: unknown }): string {
  return name.name ?? String(name.value);
}

/** The `.d.ts` file that an import names, if it is a file of this package. */
function ours(path: string, source: string): string | undefined {
  return source.startsWith(".") ? join(dirname(path), source.replace(/\.(?:js|tsx?)$/, ".d.ts")) : undefined;
}

/** The text of the doc comment that ends directly before a place, without its stars. */
function commentBefore(text: string, comments: readonly Comment[], start: number): string | undefined {
  const comment = comments.findLast(({ end }) => end <= start);
  if (!comment?.value.startsWith("*") || text.slice(comment.end, start).trim() !== "") return undefined;
  const lines = comment.value.slice(1).split("\n");
  const plain = lines.map((line) => line.replace(/^\s*\* ?/, "").trimEnd()).join("\n");
  return plain.replaceAll(/\{@link (\w+)\}/g, "`$1`").trim();
}
