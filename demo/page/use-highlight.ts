import { useEffect, useState } from "react";

/**
 * The approval that the pointer or the focus is on: its card, or a line of the stream about it. Both are marked, so that
 * a reader sees which chunks made a card. Works by the attributes of both, which know nothing of each other.
 */
export function useHighlight(): string | undefined {
  const [lit, setLit] = useState<string>();
  useEffect(() => {
    const onMove = ({ target }: Event) => {
      const element = target instanceof Element ? target : undefined;
      const card = element?.closest<HTMLElement>("article[data-approval-id]");
      const line = element?.closest<HTMLElement>("[data-line-of]");
      setLit(card?.dataset["approvalId"] ?? line?.dataset["lineOf"]);
    };
    document.addEventListener("pointerover", onMove);
    document.addEventListener("focusin", onMove);
    return () => {
      document.removeEventListener("pointerover", onMove);
      document.removeEventListener("focusin", onMove);
    };
  }, []);
  useEffect(() => {
    const card = lit === undefined ? undefined : findCard(lit);
    card?.setAttribute("data-lit", "");
    return () => card?.removeAttribute("data-lit");
  }, [lit]);
  return lit;
}

/** The card of an approval, if the page shows it. */
export function findCard(approvalId: string): HTMLElement | undefined {
  return document.querySelector<HTMLElement>(`article[data-approval-id="${CSS.escape(approvalId)}"]`) ?? undefined;
}
