import { Project } from "./project.ts";

/** The parts that a page, or a server in front of the agent's, uses. */
const parts = ["protocol", "client", "stores", "stores/memory", "stores/postgres", "stores/sqlite"];

/** What works without ADK, and what is said where it is needed. */
export async function withoutAdkPath(tarball: string): Promise<void> {
  const project = new Project();
  try {
    project.install(tarball, "ai@^7.0.32", "pg");
    if (project.has("node_modules/@google"))
      throw new Error("A package of Google was installed though no one asked for it.");
    for (const part of parts) project.run("node", "-e", `await import("adk-stream-protocol/${part}")`);
    const { status, stderr } = project.try("node", ["-e", 'await import("adk-stream-protocol/server")']);
    if (status === 0 || !/Cannot find package '@google\/adk'/.test(stderr))
      throw new Error(`Importing the server without ADK does not name ADK:\n${stderr}`);
    console.log(`  ${parts.join(", ")} work; ${project.installedMegabytes().toFixed(0)} MB installed`);
  } finally {
    project.remove();
  }
}
