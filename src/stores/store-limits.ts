/** How many chats there may be. */
export interface ChatLimits {
  /** Chats of one owner. Default: no limit. */
  chatsPerOwner?: number | undefined;
  /** Chats of all owners. Default: no limit. */
  chats?: number | undefined;
}

/** How many calls there may be. A call waits until it is settled. */
export interface CallLimits {
  /** Pending calls of the chat. Only a new call that is pending is refused. Default: no limit. */
  maxPending?: number | undefined;
  /** Calls of the chat. Default: no limit. */
  maxWaiting?: number | undefined;
  /** Calls of one owner. Default: no limit. */
  maxWaitingOfOwner?: number | undefined;
  /** Calls of all owners. Default: no limit. */
  maxWaitingInAll?: number | undefined;
}
