import { useEffect, useRef } from "react";
import { hasShortcuts } from "./preferences.ts";

/**
 * Keys that work everywhere on the page, except while a person types. `Escape` always works, unless a part of the page
 * has used it. The others are single characters, which a person can turn off.
 */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const act = Object.hasOwn(current.current, event.key) ? current.current[event.key] : undefined;
      if (!act || event.defaultPrevented || event.isComposing || event.repeat) return;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key !== "Escape" && (isTyping(event.target) || !hasShortcuts())) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}
