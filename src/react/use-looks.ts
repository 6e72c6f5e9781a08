import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { createLooks, type Looks } from "./looks.ts";

/** The looks of the card around a value. Undefined where nothing is decided. */
export const LooksContext = createContext<Looks | undefined>(undefined);

/** The looks of one card, and whether a cut value keeps it from being approved. */
export function useLooks(): { looks: Looks; isCut: boolean } {
  const [looks] = useState(createLooks);
  return { looks, isCut: useSyncExternalStore(looks.subscribe, looks.isCut, looks.isCut) };
}

/** A mark that has to be seen before the call can be approved. It has to be seen again when `value` changes. */
export function useMark<T extends HTMLElement>(value: unknown) {
  const looks = useContext(LooksContext);
  const mark = useRef<T>(null);
  useEffect(() => (mark.current ? looks?.add(mark.current) : undefined), [looks, value]);
  return mark;
}
