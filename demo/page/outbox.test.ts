import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { stillUnsent } from "./outbox.ts";

const message = (id: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: id }] });

test("keeps only the messages that the server does not have", () => {
  expect(stillUnsent([message("a"), message("b")], [message("b"), message("c")])).toEqual([message("a")]);
  expect(stillUnsent([message("a")], [])).toEqual([message("a")]);
});
