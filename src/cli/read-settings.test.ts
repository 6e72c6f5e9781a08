import { expect, test } from "vitest";
import { readSettings } from "./read-settings.ts";

test.each<[Record<string, string>, string]>([
  [{ PORT: "x" }, "PORT must be a whole number from 0 to 65535."],
  [{ DATABASE_URL: "mysql://secret" }, "DATABASE_URL must be an address such as postgres://host:5432/database."],
  [{ ALLOWED_ORIGINS: "app.example" }, "ALLOWED_ORIGINS must be a comma-separated list of origins"],
  [{ LOG_LEVEL: "debug" }, "LOG_LEVEL must be info, warn or error."],
])("settings %j are refused", (env, sentence) => {
  expect(() => readSettings(env)).toThrow(sentence);
});

test("settings have defaults", () => {
  expect(
    readSettings({ PORT: "", HOST: "::1", ALLOWED_ORIGINS: "https://a.example, https://b.example" }),
  ).toMatchObject({
    ...{ port: undefined, host: "::1", wordMs: 25, logLevel: "warn", debug: undefined },
    allowedOrigins: ["https://a.example", "https://b.example"],
  });
});
