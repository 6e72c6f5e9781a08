import { expect, test } from "vitest";
import { walletResponse } from "./wallet-response.ts";

let resets = 0;
const wallet = {
  read: () => ({ balance: 1000, currency: "USD" as const, payments: [] }),
  reset: () => void (resets += 1),
};
const ask = (path: string, method: string) =>
  walletResponse(new Request(`http://127.0.0.1${path}`, { method }), wallet);

test("is read with GET and reset with POST only", async () => {
  expect(await ask("/wallet", "GET")?.json()).toMatchObject({ balance: 1000 });
  expect(ask("/wallet", "POST")?.status).toBe(405);
  expect(ask("/wallet/reset", "GET")?.status).toBe(405);
  expect(resets).toBe(0);
  expect(await ask("/wallet/reset", "POST")?.json()).toMatchObject({ balance: 1000 });
  expect(resets).toBe(1);
  expect(ask("/wallets", "GET")).toBeUndefined();
});
