import { ActionIcon } from "./action-icon.tsx";
import { maxFileBytes, maxFiles, maxTotalBytes, type RefusedFile } from "./attachments.ts";
import { byteSize } from "./byte-size.ts";
import { fileSource } from "./file-source.ts";
import { useWords } from "./preferences.ts";
import type { Attachments } from "./use-attachments.ts";

/** The files of the next message, each with a button that removes it, and what could not be taken. */
export function AttachmentList({ attachments }: { attachments: Attachments }) {
  const { t, language } = useWords();
  const words = t.chats;
  const { files, refused, isDragging, remove } = attachments;
  const reasonOf = ({ reason }: RefusedFile) =>
    words.refusedFile[reason]({
      files: maxFiles,
      each: byteSize(maxFileBytes, language),
      total: byteSize(maxTotalBytes, language),
    });
  return (
    <>
      {isDragging && (
        <p className="drop-hint" role="status">
          {words.dropHere}
        </p>
      )}
      {refused.length > 0 && (
        <ul className="refused-files" role="alert">
          {refused.map((each, index) => (
            <li key={index}>
              <bdi>{each.name}</bdi>: {reasonOf(each)}
            </li>
          ))}
        </ul>
      )}
      {files.length > 0 && (
        <ul className="attachments" aria-label={words.attachments}>
          {files.map(({ id, name, mediaType, size, url }) => (
            <li key={id} className="attachment">
              {fileSource(url, mediaType) === "picture" ? (
                <img src={url} alt="" />
              ) : (
                <span className="attachment-icon">
                  <ActionIcon name="file" />
                </span>
              )}
              <span className="attachment-words">
                <bdi className="attachment-name">{name}</bdi>
                <span className="attachment-size">{byteSize(size, language)}</span>
              </span>
              <button
                type="button"
                className="message-action"
                aria-label={words.removeFile(name)}
                title={words.removeFile(name)}
                onClick={() => remove(id)}
              >
                <span aria-hidden="true">✕</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
