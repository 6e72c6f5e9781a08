import { LongValue, VisibleText } from "adk-stream-protocol/react";
import type { UIMessage } from "ai";
import type { CodePart } from "./is-code-part.ts";
import { useWords } from "./preferences.ts";

/** Code that the model ran in its own sandbox, or what that code printed. */
export function CodeView({ part }: { part: UIMessage["parts"][number] }) {
  const { t } = useWords();
  const { type, data } = part as unknown as CodePart;
  const isCode = type === "data-executable-code";
  const language = isCode && typeof data.language === "string" ? data.language.toLowerCase() : "";
  const text = textOf(isCode ? data.code : data.output);
  const isFailed = !isCode && data.outcome !== undefined && data.outcome !== "OUTCOME_OK";
  const title = isCode ? t.reply.code(language) : isFailed ? t.reply.codeFailed : t.reply.codeResult;
  return (
    <figure className={isFailed ? "code-part code-part-failed" : "code-part"}>
      <figcaption>{title}</figcaption>
      <div className="json">
        <LongValue text={text} label={title}>
          {(shown) => <VisibleText text={shown} isMultiline />}
        </LongValue>
      </div>
    </figure>
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.trimEnd() : "");
