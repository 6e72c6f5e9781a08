import type { NextConfig } from "next";

// They load native and optional packages, which cannot be bundled. The custom server and the route must also share them.
export default { serverExternalPackages: ["adk-stream-protocol", "@google/adk", "@google/genai"] } satisfies NextConfig;
