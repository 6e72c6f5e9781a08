import type { Writable } from "node:stream";

/** Lines that stay at the end of the output, while other lines are printed above them. */
export interface Screen {
  print(line: string): void;
  /** Replaces the lines at the end. */
  show(lines: readonly string[]): void;
}

/** On a terminal the lines are replaced in place. Elsewhere they are printed again when they have changed. */
export function createScreen(output: Writable, isTerminal: boolean): Screen {
  let shown: readonly string[] = [];
  const write = (lines: readonly string[]) => void output.write(lines.map((line) => `${line}\n`).join(""));
  /** Moves the cursor up to the first of the lines and clears everything from there. */
  const clear = () => {
    if (isTerminal && shown.length > 0) output.write(`\x1b[${shown.length}A\x1b[J`);
  };
  return {
    print(line) {
      clear();
      write([line]);
      if (isTerminal) write(shown);
    },
    show(lines) {
      if (lines.join("\n") === shown.join("\n")) return;
      clear();
      shown = lines;
      write(lines);
    },
  };
}
