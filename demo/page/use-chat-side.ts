import { useSyncExternalStore, useState } from "react";
import { rememberChatSide, wantsChatSide } from "./preferences.ts";

export interface ChatSide {
  /** Whether there is room for the list beside the conversation and the panel. */
  isWide: boolean;
  isOpen: boolean;
  toggle: () => void;
  close: () => void;
  /** A chat was chosen. The drawer closes; the list beside the conversation stays. */
  leave: () => void;
}

const wide = () => matchMedia("(min-width: 1400px)");
const subscribe = (listener: () => void) => {
  const query = wide();
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
};

/** Whether the list of chats is open. A wide window shows it unless the person has closed it; others open it on request. */
export function useChatSide(): ChatSide {
  const isWide = useSyncExternalStore(subscribe, () => wide().matches);
  const [isWanted, setWanted] = useState(wantsChatSide);
  const [isDrawn, setDrawn] = useState(false);
  const isOpen = isWide ? isWanted : isDrawn;
  const set = (open: boolean) => {
    if (!isWide) return setDrawn(open);
    setWanted(open);
    rememberChatSide(open);
  };
  return { isWide, isOpen, toggle: () => set(!isOpen), close: () => set(false), leave: () => setDrawn(false) };
}
