import { resolve } from "node:path";

/** The settings of the demo. */
export interface Settings {
  port: number;
  host: string;
  /** Where SQLite has its files, unless there is a `databaseUrl`. */
  dataDir: string;
  /** A PostgreSQL database that several nodes share. */
  databaseUrl: string | undefined;
  /** How long another node waits before it takes over the chats of a node that has died. */
  leaseMs: number;
  /** Origins of other pages that may use this server, besides its own. */
  allowedOrigins: string[];
  /** Whether the page may read the log and break things: see `debug-routes.ts`. */
  debug: boolean;
  approvalTtlMs: number | undefined;
  /** What is printed: `info` has a line for every question, decision, claim and outcome. */
  logLevel: "info" | "warn" | "error";
  /** How long a deployment takes. */
  deployMs: number;
  /** How long a deployment may take to report; then its outcome is unknown. */
  reportMs: number;
  /** How long the slow sample tool takes. */
  slowMs: number;
  /** How long a seat is held, and with it the question about it. */
  seatMs: number;
  /** How long the scripted Gemini takes for a word. */
  wordMs: number;
  model: string;
  /** The model for live mode. */
  liveModel: string;
  /** The address of Gemini; undefined for Google's own. */
  geminiUrl: string | undefined;
  apiKey: string | undefined;
  /** Whether the demo uses its own scripted Gemini, because neither a key nor an address is set. */
  scripted: boolean;
}

/** Reads the settings from the environment. Throws a sentence for a value that is not valid. */
export function readSettings(env: Record<string, string | undefined>): Settings {
  const apiKey = env["GOOGLE_API_KEY"] || undefined;
  const geminiUrl = env["GOOGLE_GEMINI_BASE_URL"] || undefined;
  const allowedOrigins = origins("ALLOWED_ORIGINS", env["ALLOWED_ORIGINS"]);
  return {
    port: wholeNumber("PORT", env["PORT"], 65_535) ?? 3000,
    host: env["HOST"] || "127.0.0.1",
    dataDir: resolve(env["DATA_DIR"] || "./.data"),
    databaseUrl: postgresUrl("DATABASE_URL", env["DATABASE_URL"]),
    leaseMs: wholeNumber("LEASE_MS", env["LEASE_MS"], 24 * 60 * 60_000, 500) ?? 10_000,
    allowedOrigins,
    // A demo that is opened to other origins has other users, who must not restart it, unless its owner says so.
    debug: yesOrNo("DEBUG_ROUTES", env["DEBUG_ROUTES"]) ?? allowedOrigins.length === 0,
    approvalTtlMs: wholeNumber("APPROVAL_TTL_MS", env["APPROVAL_TTL_MS"], Number.MAX_SAFE_INTEGER),
    logLevel: logLevel("LOG_LEVEL", env["LOG_LEVEL"]) ?? "warn",
    deployMs: wholeNumber("DEPLOY_MS", env["DEPLOY_MS"], Number.MAX_SAFE_INTEGER) ?? 20_000,
    reportMs: wholeNumber("REPORT_MS", env["REPORT_MS"], Number.MAX_SAFE_INTEGER) ?? 120_000,
    slowMs: wholeNumber("SLOW_MS", env["SLOW_MS"], 24 * 60 * 60_000) ?? 8000,
    seatMs: wholeNumber("SEAT_MS", env["SEAT_MS"], 24 * 60 * 60_000) ?? 10_000,
    wordMs: wholeNumber("WORD_MS", env["WORD_MS"], 60_000) ?? 25,
    model: env["MODEL"] || "gemini-2.5-flash",
    liveModel: env["LIVE_MODEL"] || "gemini-live-2.5-flash-preview",
    geminiUrl,
    apiKey,
    scripted: !apiKey && !geminiUrl,
  };
}

function wholeNumber(name: string, text: string | undefined, max: number, min = 0): number | undefined {
  if (!text) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${name} must be a whole number from ${min} to ${max}; it is "${text}".`);
}

/** The address of a database. The error does not show it, because it may have a password. */
function postgresUrl(name: string, text: string | undefined): string | undefined {
  if (!text) return undefined;
  if (URL.canParse(text) && ["postgres:", "postgresql:"].includes(new URL(text).protocol)) return text;
  throw new Error(`${name} must be an address such as postgres://user:password@host:5432/database.`);
}

function yesOrNo(name: string, text: string | undefined): boolean | undefined {
  if (!text) return undefined;
  if (text === "1" || text === "0") return text === "1";
  throw new Error(`${name} must be 1 or 0; it is "${text}".`);
}

function logLevel(name: string, text: string | undefined): Settings["logLevel"] | undefined {
  if (!text) return undefined;
  if (text === "info" || text === "warn" || text === "error") return text;
  throw new Error(`${name} must be info, warn or error; it is "${text}".`);
}

/** A comma-separated list of origins, each exactly as a browser sends it. */
function origins(name: string, text: string | undefined): string[] {
  const listed = (text ?? "").split(",").flatMap((origin) => origin.trim() || []);
  for (const origin of listed) {
    const expected = URL.canParse(origin) ? new URL(origin).origin : "null";
    // A page without an origin of its own sends "null", and any site can make one.
    if (origin === expected && origin !== "null") continue;
    const hint = expected === "null" ? "such as https://app.example" : `such as ${expected}`;
    throw new Error(`${name} must be a comma-separated list of origins, ${hint}; "${origin}" is not an origin.`);
  }
  return listed;
}
