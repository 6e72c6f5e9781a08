import { config } from "zod";

/** AI SDK checks chunks with zod, which uses `new Function` if it can. The server's security policy forbids that. */
config({ jitless: true });
