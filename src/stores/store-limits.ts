/** How many chats there may be. */
export interface ChatLimits {
  chatsPerOwner?: number | undefined;
  chats?: number | undefined;
}

/** How many calls there may be. A call waits until it is settled. */
export interface CallLimits {
  /** Pending calls of the chat. Only a new call that is pending is refused. */
  maxPending?: number | undefined;
  maxWaiting?: number | undefined;
  maxWaitingOfOwner?: number | undefined;
  maxWaitingInAll?: number | undefined;
}
