import { expect, test } from "vitest";
import { readSettings } from "./settings.ts";

test("without any variable the demo is local and scripted", () => {
  expect(readSettings({})).toMatchObject({ port: 3000, host: "127.0.0.1", scripted: true, approvalTtlMs: undefined });
  expect(readSettings({})).toMatchObject({ deployMs: 20_000, reportMs: 120_000 });
});

test("a key means Google's own Gemini", () => {
  expect(readSettings({ GOOGLE_API_KEY: "k" })).toMatchObject({ scripted: false, apiKey: "k", geminiUrl: undefined });
});

test("an address without a key is enough", () => {
  const settings = readSettings({ GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:9" });
  expect(settings).toMatchObject({ scripted: false, apiKey: undefined, geminiUrl: "http://127.0.0.1:9" });
});

test("each mode has a model of its own", () => {
  expect(readSettings({})).toMatchObject({ model: "gemini-2.5-flash", liveModel: "gemini-live-2.5-flash-preview" });
  expect(readSettings({ MODEL: "a", LIVE_MODEL: "b" })).toMatchObject({ model: "a", liveModel: "b" });
});

test("an empty variable is an absent one", () => {
  expect(readSettings({ PORT: "", HOST: "", GOOGLE_API_KEY: "", LIVE_MODEL: "" })).toMatchObject({
    port: 3000,
    scripted: true,
    liveModel: "gemini-live-2.5-flash-preview",
  });
});

test.each(["x", "-1", "1.5", "70000"])("PORT=%s is refused with a sentence", (PORT) => {
  expect(() => readSettings({ PORT })).toThrow(/PORT must be a whole number/);
});

test("other origins are a list, and turn off what only the owner of the demo may do", () => {
  expect(readSettings({})).toMatchObject({ allowedOrigins: [], debug: true });
  const opened = { ALLOWED_ORIGINS: "https://app.example, http://localhost:5173," };
  expect(readSettings(opened)).toMatchObject({
    allowedOrigins: ["https://app.example", "http://localhost:5173"],
    debug: false,
  });
  expect(readSettings({ ...opened, DEBUG_ROUTES: "1" }).debug).toBe(true);
  expect(readSettings({ DEBUG_ROUTES: "0" }).debug).toBe(false);
});

test.each(["*", "null", "app.example", "https://app.example/", "https://APP.example", "https://a.example/path"])(
  "ALLOWED_ORIGINS=%s is refused with a sentence",
  (ALLOWED_ORIGINS) => {
    expect(() => readSettings({ ALLOWED_ORIGINS })).toThrow(
      /ALLOWED_ORIGINS must be a comma-separated list of origins/,
    );
  },
);

test("DEBUG_ROUTES=yes is refused with a sentence", () => {
  expect(() => readSettings({ DEBUG_ROUTES: "yes" })).toThrow('DEBUG_ROUTES must be 1 or 0; it is "yes".');
});

test("LOG_LEVEL is info, warn or error, and warn unless it is given", () => {
  expect(readSettings({}).logLevel).toBe("warn");
  expect(readSettings({ LOG_LEVEL: "info" }).logLevel).toBe("info");
  expect(() => readSettings({ LOG_LEVEL: "debug" })).toThrow('LOG_LEVEL must be info, warn or error; it is "debug".');
});

test("DATABASE_URL is the address of a PostgreSQL database, and an error does not show it", () => {
  expect(readSettings({})).toMatchObject({ databaseUrl: undefined, leaseMs: 10_000 });
  const databaseUrl = "postgres://me:secret@db:5432/demo";
  expect(readSettings({ DATABASE_URL: databaseUrl, LEASE_MS: "2000" })).toMatchObject({ databaseUrl, leaseMs: 2000 });
  for (const DATABASE_URL of ["mysql://me:secret@db/demo", "secret"]) {
    expect(() => readSettings({ DATABASE_URL })).toThrow("DATABASE_URL must be an address such as postgres://");
    expect(() => readSettings({ DATABASE_URL })).not.toThrow("mysql");
  }
  expect(() => readSettings({ LEASE_MS: "0" })).toThrow("LEASE_MS must be a whole number from 500");
});
