const most = 5;

/**
 * Ends a loop: AI SDK sends an answer again whenever a reply has not settled its call. A request that brings the same
 * answers again and again is refused, and the next one that a person causes goes on. The function that is returned throws if
 * the same answers were sent too often in a row.
 */
export function repeatedSends(): (body: object) => void {
  let last = "";
  let times = 0;
  return (body) => {
    const text = JSON.stringify(body);
    const message = (body as { messages?: { role: string }[] }).messages?.at(-1);
    times = message?.role === "assistant" && text === last ? times + 1 : 0;
    last = text;
    if (times < most) return;
    times = 0;
    throw new Error(`The answer was sent ${most} times without a reply that settles it.`);
  };
}
