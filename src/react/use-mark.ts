import { createContext, useContext, useEffect, useRef } from "react";
import type { Looks } from "./looks.ts";

/** The looks of the card around a value. Undefined where nothing is decided. */
export const LooksContext = createContext<Looks | undefined>(undefined);

/** A mark that has to be seen before the call can be approved. It has to be seen again when `value` changes. */
export function useMark<T extends HTMLElement>(value?: string) {
  const looks = useContext(LooksContext);
  const mark = useRef<T>(null);
  useEffect(() => (mark.current ? looks?.add(mark.current) : undefined), [looks, value]);
  return mark;
}
