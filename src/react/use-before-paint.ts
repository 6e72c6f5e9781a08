import { useEffect, useLayoutEffect } from "react";

/** `useLayoutEffect`. On a server, where there is no layout, React would warn about it. */
export const useBeforePaint = typeof document === "undefined" ? useEffect : useLayoutEffect;
