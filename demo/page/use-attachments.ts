import { useCallback, useEffect, useRef, useState } from "react";
import { type Attachment, checkFiles, type RefusedFile } from "./attachments.ts";

export interface Attachments {
  files: readonly Attachment[];
  refused: readonly RefusedFile[];
  /** Files are being read. */
  isReading: boolean;
  /** Files are being dragged over the page. */
  isDragging: boolean;
  add: (files: readonly File[]) => void;
  remove: (id: string) => void;
  clear: () => void;
}

/** The files of the next message: chosen, pasted, or dropped anywhere on the page. */
export function useAttachments(): Attachments {
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const [refused, setRefused] = useState<readonly RefusedFile[]>([]);
  const [reading, setReading] = useState(0);
  // Also counts files that are still being read.
  const kept = useRef<readonly { id: string; size: number }[]>([]);

  const add = useCallback((chosen: readonly File[]) => {
    const checked = checkFiles(kept.current, chosen);
    setRefused(checked.refused);
    for (const { file, mediaType } of checked.taken) {
      const { name, size } = file;
      const id = crypto.randomUUID();
      kept.current = [...kept.current, { id, size }];
      setReading((count) => count + 1);
      readAsDataUrl(file, mediaType)
        .then(
          (url) => {
            // It may have been removed meanwhile.
            if (kept.current.some((each) => each.id === id))
              setFiles((before) => [...before, { id, name, mediaType, size, url }]);
          },
          () => {
            kept.current = kept.current.filter((each) => each.id !== id);
            setRefused((before) => [...before, { name, reason: "unreadable" }]);
          },
        )
        .finally(() => setReading((count) => count - 1));
    }
  }, []);
  const remove = useCallback((id: string) => {
    kept.current = kept.current.filter((each) => each.id !== id);
    setFiles((before) => before.filter((each) => each.id !== id));
    setRefused([]);
  }, []);
  const clear = useCallback(() => {
    kept.current = [];
    setFiles([]);
    setRefused([]);
  }, []);

  const isDragging = useDroppedFiles(add);
  return { files, refused, isReading: reading > 0, isDragging, add, remove, clear };
}

/** Takes files that are dropped on the page. The browser would open them instead of the page. */
function useDroppedFiles(onFiles: (files: readonly File[]) => void): boolean {
  const [isDragging, setDragging] = useState(false);
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDragging(true);
    };
    const leave = (event: DragEvent) => {
      // Without a related element the pointer has left the window.
      if (event.relatedTarget === null) setDragging(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDragging(false);
      // A dialog over the page has other uses for files.
      if (!document.querySelector("dialog[open]")) onFiles([...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener("dragover", over);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, [onFiles]);
  return isDragging;
}

/** Browsers name the type as they like, so the type that was checked replaces theirs. */
function readAsDataUrl(file: File, mediaType: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve(`data:${mediaType};base64,${url.slice(url.indexOf(",") + 1)}`);
    });
    reader.addEventListener("error", () => reject(reader.error ?? new Error("The file could not be read.")));
    reader.readAsDataURL(file);
  });
}
