import { join } from "node:path";
import { freePort, Project } from "./project.ts";

/** `examples/next`, which docs/mounting.md shows: built, with Next's own server and with the custom one, and in development. */
export async function nextPath(tarball: string): Promise<void> {
  const project = new Project();
  try {
    project.copy(join(import.meta.dirname, "../../examples/next"), ".");
    project.install(tarball);
    console.log(`  ${project.installedMegabytes().toFixed(0)} MB installed`);
    project.run("next", "build");
    const start = await freePort();
    console.log("  next start");
    drive(project, start, "-", "next", "start", "-p", String(start));
    for (const mode of ["production", "development"]) {
      const port = await freePort();
      console.log(`  custom server, ${mode}`);
      const command = ["env", `PORT=${port}`, `NODE_ENV=${mode}`, "node", "server.ts"];
      drive(project, port, `ws://127.0.0.1:${port}/live`, ...command);
    }
  } finally {
    project.remove();
  }
}

function drive(project: Project, port: number, socketUrl: string, ...command: readonly string[]): void {
  const url = `http://127.0.0.1:${port}`;
  process.stdout.write(project.driveWith({ PAGE: `${url}/` }, `${url}/agent`, socketUrl, ...command));
}
