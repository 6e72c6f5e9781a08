import { escapeHtml } from "./escape-html.ts";

/** The address of the reference of a name, if it has one. */
export type FindReference = (name: string) => string | undefined;

const keywords =
  "abstract as async await break case catch class const continue declare default delete do else enum export extends " +
  "false finally for from function if implements import in infer instanceof interface is keyof let new null of override " +
  "private protected public readonly return satisfies static super switch this throw true try type typeof undefined " +
  "unique unknown using var void while yield any boolean never number object string symbol bigint";
const isKeyword = new Set(keywords.split(" "));

/** Each group is one kind of token. Words are told apart afterwards. */
const script =
  /(?<comment>\/\/.*|\/\*[\s\S]*?\*\/)|(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<number>\b\d[\d_.]*\b)|(?<word>[A-Za-z_$][\w$]*)/g;
const shell = /(?<comment>(?<=^|\s)#.*)|(?<string>"[^"\n]*"|'[^'\n]*')|(?<word>(?<=^)[\w./-]+)/gm;
const data =
  /(?<comment>(?<=^|\s)#.*)|(?<word>"(?:\\.|[^"\\\n])*"(?=\s*:)|[\w-]+(?=:\s))|(?<string>"(?:\\.|[^"\\\n])*")|(?<number>\b\d[\d.]*\b)/g;

const grammars: Readonly<Record<string, RegExp>> = {
  ...{ ts: script, tsx: script, js: script, mjs: script, jsx: script },
  ...{ sh: shell, bash: shell, json: data, yaml: data },
};

/** Colours code, as HTML. In TypeScript, names of the package lead to their reference. Unknown languages stay plain. */
export function highlight(code: string, language: string, find: FindReference = () => undefined): string {
  const grammar = grammars[language];
  if (!grammar) return escapeHtml(code);
  let html = "";
  let at = 0;
  for (const match of code.matchAll(grammar)) {
    const [token] = match;
    html += escapeHtml(code.slice(at, match.index));
    at = match.index + token.length;
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "";
    html += kind === "word" && grammar === script ? word(token, code, match.index, find) : span(kind, token);
  }
  return html + escapeHtml(code.slice(at));
}

function word(name: string, code: string, at: number, find: FindReference): string {
  const isMember = code[at - 1] === "." && code[at - 2] !== ".";
  const isProperty = /^\??:/.test(code.slice(at + name.length));
  if (!isMember && !isProperty) {
    const address = find(name);
    if (address !== undefined) return `<a class="name" href="${address}">${span(kindOf(name, code, at), name)}</a>`;
    if (isKeyword.has(name)) return span("keyword", name);
  }
  return span(kindOf(name, code, at), name);
}

function kindOf(name: string, code: string, at: number): string {
  if (/^[A-Z]/.test(name)) return "type";
  return /^(?:<[\w, ]*>)?\(/.test(code.slice(at + name.length)) ? "call" : "";
}

function span(kind: string, text: string): string {
  return kind === "" ? escapeHtml(text) : `<span class="t-${kind}">${escapeHtml(text)}</span>`;
}
