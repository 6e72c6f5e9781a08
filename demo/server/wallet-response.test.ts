import { expect, test } from "vitest";
import { DatabaseAway } from "./demo-database.ts";
import { walletResponse } from "./wallet-response.ts";

let resets = 0;
const wallet = {
  read: async () => ({ balance: 1000, currency: "USD" as const, payments: [] }),
  reset: async () => void (resets += 1),
};
const ask = (path: string, method: string) =>
  walletResponse(new Request(`http://127.0.0.1${path}`, { method }), wallet);

test("is read with GET and reset with POST only", async () => {
  expect(await (await ask("/wallet", "GET"))?.json()).toMatchObject({ balance: 1000 });
  expect((await ask("/wallet", "POST"))?.status).toBe(405);
  expect((await ask("/wallet/reset", "GET"))?.status).toBe(405);
  expect(resets).toBe(0);
  expect(await (await ask("/wallet/reset", "POST"))?.json()).toMatchObject({ balance: 1000 });
  expect(resets).toBe(1);
  expect(await ask("/wallets", "GET")).toBeUndefined();
});

test("says that it is away while its database is", async () => {
  const away = { read: () => Promise.reject(new DatabaseAway("no")), reset: async () => undefined };
  const response = await walletResponse(new Request("http://127.0.0.1/wallet"), away);
  expect([response?.status, response?.headers.get("retry-after")]).toEqual([503, "1"]);
});
