import { stat } from "node:fs/promises";

export interface WatchOptions {
  /** The files to watch now. Asked again at every look, because a load changes them. */
  files: () => Iterable<string>;
  /** When the last load began. A file that is seen for the first time and was written later has changed. */
  since: () => number;
  onChange: () => void;
  everyMs?: number;
}

/**
 * Calls `onChange` when a file has changed, appeared or gone. It looks at the files again and again: notifications of the
 * operating system miss files that editors replace, and folders that are mounted.
 */
export function watchFiles({ files, since, onChange, everyMs = 250 }: WatchOptions): () => void {
  const known = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const look = async () => {
    let hasChanged = false;
    for (const file of new Set(files())) {
      const { mark, writtenAt } = await lookAt(file);
      const before = known.get(file);
      known.set(file, mark);
      if (before === undefined ? writtenAt > since() : before !== mark) hasChanged = true;
    }
    if (isClosed) return;
    if (hasChanged) onChange();
    timer = setTimeout(() => void look(), everyMs);
  };
  void look();
  return () => {
    isClosed = true;
    clearTimeout(timer);
  };
}

async function lookAt(file: string): Promise<{ mark: string; writtenAt: number }> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return { mark: `${mtimeMs} ${size} ${ino}`, writtenAt: mtimeMs };
  } catch {
    return { mark: "missing", writtenAt: 0 };
  }
}
