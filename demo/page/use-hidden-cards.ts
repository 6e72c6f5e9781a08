import { useEffect, useState, type RefObject } from "react";

/** Which of these cards are scrolled out of sight, in their order. */
export function useHiddenCards(box: RefObject<HTMLElement | null>, ids: readonly string[]): readonly string[] {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const key = ids.join(" ");
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) =>
        setHidden((before) => {
          const next = new Set(before);
          for (const { target, isIntersecting } of entries) {
            const id = target.getAttribute("data-approval-id") ?? "";
            if (isIntersecting) next.delete(id);
            else next.add(id);
          }
          return next;
        }),
      { root: box.current },
    );
    for (const id of key === "" ? [] : key.split(" ")) {
      const card = box.current?.querySelector(`[data-approval-id="${CSS.escape(id)}"]`);
      if (card) observer.observe(card);
    }
    return () => observer.disconnect();
  }, [box, key]);
  return ids.filter((id) => hidden.has(id));
}
