import type { MouseEvent } from "react";

/** The second click of a double click was not meant for a button that has appeared in the same place meanwhile. */
export const isSecondClick = (event: MouseEvent): boolean => event.detail > 1;
