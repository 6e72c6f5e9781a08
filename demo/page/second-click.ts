import type { MouseEvent } from "react";

/** The second click of a double click meant what the first one did, not whatever is in its place by now. */
export const isSecondClick = (event: MouseEvent): boolean => event.detail > 1;
