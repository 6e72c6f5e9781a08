/** The major version of AI SDK in this build of the page. */
declare const __AI_MAJOR__: "6" | "7";
