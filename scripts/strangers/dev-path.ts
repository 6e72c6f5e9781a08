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

/** An agent file and nothing else: `dev` serves it without a key, and the model calls the tool when asked to. */
export async function devPath(tarball: string): Promise<void> {
  const project = new Project();
  try {
    project.write("agent.ts", agentFile);
    project.install(tarball, "@google/adk@~2.0.0", "@google/genai@^2.32.0", "ai", "zod");
    const start = performance.now();
    const port = await freePort();
    const urls = [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}/live`];
    const command = [
      "npx",
      "--no-install",
      "adk-stream-protocol",
      "dev",
      "./agent.ts",
      "--no-open",
      "--port",
      String(port),
    ];
    const env = { OWN_MODEL: "1", GOOGLE_API_KEY: "", GEMINI_API_KEY: "" };
    process.stdout.write(project.driveWith(env, ...urls, ...command));
    console.log(`  from the command to both payments: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  } finally {
    project.remove();
  }
}
