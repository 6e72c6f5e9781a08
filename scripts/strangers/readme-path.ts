import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, Project } from "./project.ts";

/** The oldest and the newest version of each major of AI SDK that package.json allows. */
const versions = ["6.0.231", "^6.0.231", "7.0.32", "^7.0.32"];

/** The README's first example, as it is except for its port, with each version of AI SDK. */
export async function readmePath(tarball: string): Promise<void> {
  const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
  const [, example] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  if (!example?.includes("3001")) throw new Error("The README has no example with the port 3001.");
  for (const ai of versions) {
    const project = new Project();
    try {
      project.install(tarball, "@google/adk@~2.0.0", "@google/genai@^2.32.0", `ai@${ai}`, "zod");
      const port = await freePort();
      project.write("server.ts", example.replace("3001", String(port)));
      const installed = readFileSync(join(project.folder, "node_modules/ai/package.json"), "utf8");
      const { version } = JSON.parse(installed) as { version: string };
      console.log(`  ai ${version}, ${project.installedMegabytes().toFixed(0)} MB installed`);
      const url = `127.0.0.1:${port}`;
      process.stdout.write(project.drive(`http://${url}`, `ws://${url}/live`, "node", "server.ts"));
    } finally {
      project.remove();
    }
  }
}
