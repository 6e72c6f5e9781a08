import { z } from "zod";

/** The settings that `dev` and `serve` read from the environment, with the names of the demo's. */
export interface EnvironmentSettings {
  port: number | undefined;
  host: string | undefined;
  dataDir: string | undefined;
  databaseUrl: string | undefined;
  allowedOrigins: string[];
  approvalTtlMs: number | undefined;
  leaseMs: number | undefined;
  /** How long the scripted model takes for a word. */
  wordMs: number;
  liveModel: string;
  logLevel: "info" | "warn" | "error";
  /** Whether the page may read the log and the state; undefined if the server decides. */
  debug: boolean | undefined;
}

const whole = (most: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value <= most)
    .optional();
const origins = z
  .string()
  .transform((text) => text.split(",").flatMap((origin) => origin.trim() || []))
  .refine((list) => list.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin));

/** Each variable, and what it must be. */
const variables = {
  PORT: [whole(65_535), "a whole number from 0 to 65535"],
  DATABASE_URL: [
    z.url({ protocol: /^postgres(?:ql)?$/ }).optional(),
    "an address such as postgres://host:5432/database",
  ],
  ALLOWED_ORIGINS: [origins.optional(), "a comma-separated list of origins such as https://app.example"],
  APPROVAL_TTL_MS: [whole(Number.MAX_SAFE_INTEGER), "a whole number of milliseconds"],
  LEASE_MS: [whole(86_400_000), "a whole number of milliseconds"],
  WORD_MS: [whole(60_000), "a whole number of milliseconds up to 60000"],
  LOG_LEVEL: [z.enum(["info", "warn", "error"]).optional(), "info, warn or error"],
  DEBUG_ROUTES: [z.enum(["0", "1"]).optional(), "1 or 0"],
} as const;

/** Reads the settings. Throws a sentence for a value that is not valid, without the value: it may have a password. */
export function readSettings(env: Record<string, string | undefined>): EnvironmentSettings {
  const read = <Name extends keyof typeof variables>(name: Name): z.output<(typeof variables)[Name][0]> => {
    const [schema, rule] = variables[name];
    const result = schema.safeParse(env[name] || undefined);
    if (!result.success) throw new Error(`${name} must be ${rule}.`);
    return result.data as z.output<(typeof variables)[Name][0]>;
  };
  const debug = read("DEBUG_ROUTES");
  return {
    port: read("PORT"),
    host: env["HOST"] || undefined,
    dataDir: env["DATA_DIR"] || undefined,
    databaseUrl: read("DATABASE_URL"),
    allowedOrigins: read("ALLOWED_ORIGINS") ?? [],
    approvalTtlMs: read("APPROVAL_TTL_MS"),
    leaseMs: read("LEASE_MS"),
    wordMs: read("WORD_MS") ?? 25,
    liveModel: env["LIVE_MODEL"] || "gemini-live-2.5-flash-preview",
    logLevel: read("LOG_LEVEL") ?? "warn",
    debug: debug === undefined ? undefined : debug === "1",
  };
}
