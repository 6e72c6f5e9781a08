import type { FileUIPart } from "ai";
import { ActionIcon } from "./action-icon.tsx";
import { byteSize, dataUrlBytes } from "./byte-size.ts";
import { fileSource } from "./file-source.ts";
import { useWords } from "./preferences.ts";

/** A file of a message. Pictures are drawn if the message has them or this server does; nothing is fetched from elsewhere. */
export function FileView({ part }: { part: FileUIPart }) {
  const { t, language } = useWords();
  const { url, mediaType, filename } = part;
  const source = fileSource(url, mediaType);
  if (source === "picture")
    return (
      <a className="picture-link" href={url.startsWith("data:") ? undefined : url} target="_blank" rel="noreferrer">
        <img className="picture" src={url} alt={filename ?? t.image} loading="lazy" />
      </a>
    );
  const size = dataUrlBytes(url);
  const words = [filename ?? t.file, size === undefined ? mediaType : `${mediaType}, ${byteSize(size, language)}`];
  const label = `${words[0]} (${words[1]})`;
  if (source === "none") return <span className="file-chip">{label}</span>;
  return (
    <a
      className="file-chip"
      href={url}
      target="_blank"
      rel="noreferrer noopener"
      download={source === "own" ? (filename ?? "file") : undefined}
    >
      <ActionIcon name="file" />
      <span className="outside">{label}</span>
    </a>
  );
}
