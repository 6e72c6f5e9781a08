/** The major version of AI SDK this build of the page carries. */
declare const __AI_MAJOR__: "6" | "7";
