/** The reply cannot go on in its stream. AI SDK takes a TypeError about the network for one that can be resumed. */
export class LostReply extends TypeError {
  constructor() {
    super("The network connection was cut in the middle of the reply.");
  }
}

/** True if there was no response. */
export function isUnreached(error: unknown): boolean {
  return error instanceof TypeError && !(error instanceof LostReply);
}
