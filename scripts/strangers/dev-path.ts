import { rmSync } from "node:fs";
import { join } from "node:path";
import { freePort, Project } from "./project.ts";

/** All that the stranger has. */
const agentFile = `
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person.",
  parameters: z.object({ amount: z.number(), recipient: z.string() }),
  requireConfirmation: true,
  execute: ({ amount, recipient }) => ({ paid: amount, to: recipient }),
});

export const rootAgent = new LlmAgent({ name: "cashier", model: "gemini-2.5-flash", tools: [pay] });
`;

/**
 * An agent file and nothing else, not even a package.json: `npx` gets the package, and `dev` gets ADK and serves the agent
 * without a key. The model calls the tool when asked to.
 */
export async function devPath(tarball: string): Promise<void> {
  const lone = new Project();
  const driver = new Project();
  try {
    rmSync(join(lone.folder, "package.json"));
    lone.write("agent.ts", agentFile);
    driver.install(tarball, "@google/adk@~2.0.0", "@google/genai@^2.32.0", "ai", "zod");
    // Caches of its own, so that everything is downloaded.
    const cache = join(driver.folder, "cache");
    const env = {
      OWN_MODEL: "1",
      GOOGLE_API_KEY: "",
      GEMINI_API_KEY: "",
      XDG_CACHE_HOME: cache,
      npm_config_cache: cache,
    };
    for (const time of ["first", "second"]) {
      const start = performance.now();
      const port = await freePort();
      const urls = [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}/live`];
      const dev = ["dev", "./agent.ts", "--no-open", "--port", String(port)];
      const npx = ["npx", "--yes", "--package", `file:${tarball}`, "adk-stream-protocol", ...dev];
      // In the folder of the driver, npx would use the package that is installed there.
      const command = ["sh", "-c", 'cd "$0" && exec "$@"', lone.folder, ...npx];
      process.stdout.write(driver.driveWith(env, ...urls, ...command));
      console.log(`  ${time} time, from the command to both payments: ${seconds(start)} s`);
    }
    if (lone.has("node_modules")) throw new Error("Something was installed beside the agent file.");
  } finally {
    lone.remove();
    driver.remove();
  }
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
