import { createElement, useMemo, type ReactNode } from "react";
import { type Block, markdown } from "./markdown.ts";
import type { Inline } from "./markdown-inline.ts";

/** The assistant's text. Its Markdown becomes elements of React, so no HTML and no script of it can run. */
export function RichText({ text }: { text: string }) {
  const blocks = useMemo(() => markdown(text), [text]);
  const levels = useMemo(() => levelsOf(blocks), [blocks]);
  return <div className="text outside">{blocks.map((block, index) => drawBlock(block, index, levels))}</div>;
}

/** The levels of headings in use, so that the page's outline has no gaps whatever the text begins with. */
function levelsOf(blocks: readonly Block[]): number[] {
  const used = blocks.flatMap((block) => (block.kind === "heading" ? [block.level] : []));
  return [...new Set(used)].toSorted((one, other) => one - other);
}

function drawBlock(block: Block, key: number, levels: readonly number[]): ReactNode {
  switch (block.kind) {
    case "paragraph":
      return <p key={key}>{drawInline(block.children)}</p>;
    case "heading": {
      const level = Math.min(2 + Math.max(levels.indexOf(block.level), 0), 6);
      return createElement(`h${level}`, { key }, drawInline(block.children));
    }
    case "code":
      return (
        <pre key={key} tabIndex={0}>
          <code data-language={block.language || undefined}>{block.text}</code>
        </pre>
      );
    case "list": {
      const items = block.items.map((item, index) => <li key={index}>{drawItem(item, levels)}</li>);
      return block.start === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      );
    }
    case "quote":
      return <blockquote key={key}>{block.children.map((inner, index) => drawBlock(inner, index, levels))}</blockquote>;
    case "table":
      return <Table key={key} table={block} />;
    case "rule":
      return <hr key={key} />;
  }
}

/** An item that is one line needs no paragraph. */
function drawItem(item: readonly Block[], levels: readonly number[]): ReactNode {
  const [first, ...rest] = item;
  if (first?.kind !== "paragraph") return item.map((block, index) => drawBlock(block, index, levels));
  return [
    <span key="line">{drawInline(first.children)}</span>,
    ...rest.map((block, index) => drawBlock(block, index, levels)),
  ];
}

function Table({ table }: { table: Extract<Block, { kind: "table" }> }) {
  return (
    <div className="table-box" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.head.map((cell, index) => (
              <th key={index}>{drawInline(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{drawInline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const elements = { strong: "strong", emphasis: "em", strike: "s" } as const;

function drawInline(pieces: readonly Inline[]): ReactNode {
  return pieces.map((piece, index) => {
    switch (piece.kind) {
      case "text":
        return piece.text;
      case "code":
        return <code key={index}>{piece.text}</code>;
      case "link":
        return <Link key={index} link={piece} />;
      default:
        return createElement(elements[piece.kind], { key: index }, drawInline(piece.children));
    }
  });
}

/** A link whose words are not its address is followed by the place it leads to: the words are the model's choice. */
function Link({ link }: { link: Extract<Inline, { kind: "link" }> }) {
  const [only, ...others] = link.children;
  const isAddress =
    others.length === 0 &&
    only?.kind === "text" &&
    [link.href, link.target].some((address) => isSame(address, only.text));
  return (
    <>
      <a href={link.href} target="_blank" rel="noopener noreferrer">
        {drawInline(link.children)}
      </a>
      {!isAddress && <span className="link-target"> ({link.target})</span>}
    </>
  );
}

function isSame(address: string, text: string): boolean {
  return address === text || address === `${text}/`;
}
