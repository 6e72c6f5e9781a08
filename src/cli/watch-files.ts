import { stat } from "node:fs/promises";

export interface WatchOptions {
  /** The files to watch now. Asked again at every look, because a load changes them. */
  files: () => Iterable<string>;
  onChange: () => void;
  everyMs?: number;
}

/**
 * Calls `onChange` when a file has changed, appeared or gone. It looks at the files again and again: notifications of the
 * operating system miss files that editors replace, and folders that are mounted.
 */
export function watchFiles({ files, onChange, everyMs = 250 }: WatchOptions): () => void {
  const known = new Map<string, string>();
  let isFirst = true;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const look = async () => {
    let hasChanged = false;
    for (const file of new Set(files())) {
      const now = await markOf(file);
      const before = known.get(file);
      known.set(file, now);
      if (before !== undefined && before !== now) hasChanged = true;
    }
    if (isClosed) return;
    if (hasChanged && !isFirst) onChange();
    isFirst = false;
    timer = setTimeout(() => void look(), everyMs);
  };
  void look();
  return () => {
    isClosed = true;
    clearTimeout(timer);
  };
}

async function markOf(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "missing";
  }
}
