import { config } from "zod";

/** AI SDK checks chunks with zod, which would try `new Function`; the page's policy forbids that, so it must not try. */
config({ jitless: true });
