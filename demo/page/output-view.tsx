import { JsonBlock, JsonText } from "adk-stream-protocol/react";
import { isLargeOutput } from "adk-stream-protocol/protocol";
import { byteSize } from "./byte-size.ts";
import { useWords } from "./preferences.ts";

/** What a tool returned. Of a large output this is the beginning, with a link to the whole. */
export function OutputView({ output, label }: { output: unknown; label: string }) {
  const { t, language } = useWords();
  if (!isLargeOutput(output)) return <JsonBlock value={output} label={label} />;
  return (
    <>
      <JsonText text={`${output.preview}…`} label={label} />
      <p className="large-output">
        <a href={output.url} target="_blank" rel="noreferrer">
          {t.chats.wholeOutput(byteSize(output.size, language))}
        </a>
      </p>
    </>
  );
}
