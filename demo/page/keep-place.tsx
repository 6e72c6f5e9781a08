import { Component, type ReactNode, type RefObject } from "react";
import { moveScroll } from "./move-scroll.ts";

export interface KeepPlaceProps {
  /** The box that scrolls. */
  box: RefObject<HTMLElement | null>;
  /** The id of the first message that is drawn. */
  first: string | undefined;
  /** False while the reader wants to see the first message, whichever it is. */
  isOn: boolean;
  children: ReactNode;
}

interface Place {
  element: Element;
  top: number;
}

/**
 * Keeps what the reader sees where it is when older messages are drawn above it. A class, because only a class can measure
 * directly before the document changes: between the last scroll event and then, heights may have changed.
 */
export class KeepPlace extends Component<KeepPlaceProps> {
  override getSnapshotBeforeUpdate(before: KeepPlaceProps): Place | null {
    const { box, first, isOn } = this.props;
    return box.current && isOn && before.first !== first ? firstVisible(box.current) : null;
  }

  override componentDidUpdate(_props: KeepPlaceProps, _state: unknown, place: Place | null): void {
    const box = this.props.box.current;
    if (!box || !place?.element.isConnected) return;
    moveScroll(box, topIn(box, place.element) - place.top);
  }

  override render(): ReactNode {
    return this.props.children;
  }
}

/** The first message that the reader sees a part of. */
function firstVisible(box: Element): Place | null {
  for (const block of box.querySelectorAll(".message-block")) {
    if (bottomIn(box, block) <= 0) continue;
    for (const element of block.children) if (bottomIn(box, element) > 0) return { element, top: topIn(box, element) };
  }
  return null;
}

function topIn(box: Element, element: Element): number {
  return element.getBoundingClientRect().top - box.getBoundingClientRect().top;
}

function bottomIn(box: Element, element: Element): number {
  return element.getBoundingClientRect().bottom - box.getBoundingClientRect().top;
}
