import type { NextConfig } from "next";

// They load native and optional packages, which cannot be bundled.
export default { serverExternalPackages: ["@google/adk", "@google/genai"] } satisfies NextConfig;
