import type { UIMessage } from "ai";
import { useEffect, useState } from "react";
import { messageText } from "./message-text.ts";
import type { BridgeChat } from "./use-bridge-chat.ts";

export interface Edit {
  /** The words in the form; undefined while no form is open. */
  draft: string | undefined;
  begin: () => void;
  change: (draft: string) => void;
  cancel: () => void;
  submit: () => void;
}

/**
 * The edit of one message. The words are kept until the server has them: if the request fails and the page shows the
 * server's message again, the form opens again with the words in it.
 */
export function useEdit(message: UIMessage, bridge: BridgeChat | undefined): Edit {
  const text = messageText(message);
  const [draft, setDraft] = useState<string>();
  const [sent, setSent] = useState<"no" | "now" | "over">("no");
  const status = bridge?.status;
  useEffect(() => {
    if (sent !== "over" || draft === undefined) return;
    if (text !== draft) setSent("no");
    else if (status === "ready") {
      setDraft(undefined);
      setSent("no");
    }
  }, [sent, draft, text, status]);
  return {
    draft: sent === "no" ? draft : undefined,
    begin: () => setDraft(text),
    change: setDraft,
    cancel: () => setDraft(undefined),
    submit() {
      const words = draft?.trim() ?? "";
      if (words === "" || !bridge?.edit) return;
      setDraft(words);
      setSent("now");
      void bridge.edit(message.id, words).then(() => setSent("over"));
    },
  };
}
