import { type ComponentType, createContext, type ReactNode, useContext } from "react";
import type { ApprovalInfo } from "../client/chat-approvals.ts";
import { useWords } from "./approval-language.tsx";

/** The `data-part` of every element of a card, for stylesheets and `classNames`. */
export type CardPart =
  | "card"
  | "header"
  | "icon"
  | "heading"
  | "title"
  | "tool"
  | "tags"
  | "danger"
  | "decision"
  | "status"
  | "spinner"
  | "hint"
  | "note"
  | "fields"
  | "field"
  | "name"
  | "value"
  | "sum"
  | "exact"
  | "empty"
  | "list"
  | "code"
  | "json"
  | "text"
  | "mark"
  | "seen"
  | "long"
  | "show"
  | "unseen"
  | "outcome"
  | "actions"
  | "approve"
  | "call"
  | "deny"
  | "retry"
  | "form"
  | "label"
  | "reason"
  | "countdown"
  | "resolution"
  | "question"
  | "resolve"
  | "problem"
  | "details"
  | "summary"
  | "link"
  | "draft";

/** Class names for elements of a card, by their `data-part`. */
export type CardClassNames = Readonly<Partial<Record<CardPart, string>>>;

/** What a slot gets: the approval, and what the card would show there. */
export interface SlotProps {
  info: ApprovalInfo;
  children: ReactNode;
}

/** The places of a card that an application can fill itself. */
export type CardSlot = "status" | "hint" | "note" | "arguments" | "outcome" | "actions" | "details";
/** Components of the application for places of a card. */
export type CardSlots = Readonly<Partial<Record<CardSlot, ComponentType<SlotProps>>>>;

interface CardContext {
  info?: ApprovalInfo;
  slots: CardSlots;
  classNames: CardClassNames;
}

const Context = createContext<CardContext>({ slots: {}, classNames: {} });

export const CardParts = Context.Provider;

/** The words of the components around, and a function that returns the attributes of a part. */
export function useCard() {
  const { classNames } = useContext(Context);
  const part = (name: CardPart) => ({ "data-part": name, className: classNames[name] });
  return { ...useWords(), part };
}

/** A place that the application can fill. */
export function Slot({ name, children }: { name: CardSlot; children: ReactNode }) {
  const { info, slots } = useContext(Context);
  const Custom = slots[name];
  return Custom && info ? <Custom info={info}>{children}</Custom> : children;
}
