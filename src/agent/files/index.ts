/**
 * Files that users attach, files that models make, and outputs that are too large for a message. They are stored once, as
 * files of their chat; the log, the messages, the rows and the model's history refer to them.
 *
 *   take-files        checks what a user attaches
 *   keeping-store     takes files and large outputs out of everything that is stored
 *   keep-entry        how the log and the messages refer to files; inline-files puts small ones back
 *   keep-event        how events refer to files, and how a request to the model gets them back
 *   large-outputs     outputs that travel as a preview
 *   files-by-value    puts all of them back into the messages of an exported chat
 */
export { ChatFiles } from "./chat-files.ts";
export { FilesByValue } from "./files-by-value.ts";
export { checkFileOptions, type FileOptions } from "./file-options.ts";
export { isPreviewOf } from "./large-outputs.ts";
