import { useWords } from "./preferences.ts";
import { readReplyFacts } from "./reply-facts.ts";

/** One small line under a reply: the model, and the tokens it read and wrote. */
export function ReplyFactsLine({ metadata }: { metadata: unknown }) {
  const { t } = useWords();
  const facts = readReplyFacts(metadata);
  if (!facts) return null;
  const { model, inputTokens, outputTokens } = facts;
  const words = [model, inputTokens + outputTokens > 0 ? t.reply.tokens(inputTokens, outputTokens) : undefined];
  return <p className="reply-facts">{words.filter((each) => each !== undefined).join(" · ")}</p>;
}
