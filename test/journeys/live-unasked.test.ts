import { call, gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { majors, partStates, stockChat, toolParts, type Wire } from "../fixtures/stock-chat.ts";
import { afterTools, idle, messagesOf, openWorld } from "../fixtures/world.ts";

/** A model that continues to speak after its call, and then speaks about the outcome. */
const talkative = (until: Promise<void>): Rule[] => [
  afterTools,
  {
    when: /pay/,
    say: [
      call("process_payment", { amount: 50, recipient: "Hanako" }),
      pause(until),
      text("While you decide, a word about the weather."),
    ],
  },
];

const wires: [Wire, (typeof majors)[number]][] = [
  ["chat wire", majors[0]],
  ["chat wire", majors[1]],
  ["AI SDK wire", majors[1]],
];

describe("text that comes while a question is open and no stream is", () => {
  it.each(wires)("is shown with the reply to the answer, over the %s", async (wire, [, ai]) => {
    const world = await openWorld();
    const asked = gate();
    world.gemini.reset(talkative(asked.opened), { live: { behavior: "NON_BLOCKING" } });
    const { chat, settled, errors, replies } = stockChat(ai, world, { wire });
    await chat.sendMessage({ text: "pay" });
    await settled();
    const [question] = toolParts(ai, chat.lastMessage!);
    expect(question?.state).toBe("approval-requested");

    asked.open();
    while (!JSON.stringify(await messagesOf(world)).includes("about the weather")) await idle(world);
    await idle(world);
    expect(JSON.stringify(chat.messages)).not.toContain("about the weather");

    await chat.addToolApprovalResponse({ id: question!.approval!.id, approved: true });
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(await replies()).toHaveLength(2);
    expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    const said = JSON.stringify(messages.at(-1));
    expect(said.match(/about the weather/g)).toHaveLength(1);
    expect(said).toContain("process_payment gave");
    await ai.validateUIMessages({ messages });
    expect(messages.map(partStates)).toEqual((await messagesOf(world)).map(partStates));
  });
});
