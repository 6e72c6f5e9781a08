import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { freePort, Project } from "./project.ts";

const root = join(import.meta.dirname, "../..");

/** `examples/next`, which docs/mounting.md shows: built, with Next's own server and with the custom one, and in development. */
export async function nextPath(tarball: string): Promise<void> {
  const project = new Project();
  try {
    project.copy(join(root, "examples/next"), ".");
    project.install(tarball);
    await buildAndPay(project);
  } finally {
    project.remove();
  }
}

const flags =
  "--ts --app --no-tailwind --no-eslint --no-src-dir --import-alias @/* --use-npm --yes --skip-install --disable-git";

/** An application that `create-next-app` has made, and then what docs/mounting.md says, block by block. */
export async function existingNextPath(tarball: string): Promise<void> {
  const project = new Project();
  try {
    rmSync(join(project.folder, "package.json"));
    project.run("npx", "--yes", "create-next-app@16", "shop", ...flags.split(" "));
    project.run("sh", "-c", "cp -r shop/. . && rm -r shop");
    project.install();
    // Its own layout loads fonts of Google, which needs more than the registry.
    project.write("app/layout.tsx", layout);
    const start = performance.now();
    project.install(tarball, "@google/adk@~2.0.0", "@google/genai@^2.32.0", "ai", "@ai-sdk/react", "zod");
    const [config, ...files] = blocks();
    const packages = /\[[^\]]*\]/.exec(config ?? "")?.[0] ?? "[]";
    project.edit("next.config.ts", /\{\n/, `{\n  serverExternalPackages: ${packages},\n`);
    project.edit("app/layout.tsx", /^/, 'import "adk-stream-protocol/react/styles.css";\n');
    project.edit("tsconfig.json", /"noEmit": true,/, '"noEmit": true, "allowImportingTsExtensions": true,');
    project.edit("package.json", /"private": true,/, '"private": true, "type": "module",');
    const names = ["bridge.ts", "app/agent/[...path]/route.ts", "app/page.tsx", "app/chat.tsx", "server.ts"];
    for (const [index, name] of names.entries()) project.write(name, files[index] ?? "");
    await buildAndPay(project);
    console.log(`  from the installation to the last payment: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  } finally {
    project.remove();
  }
}

const layout = `
export default function Layout({ children }: { children: React.ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}
`;

/** The code of docs/mounting.md about Next.js. */
function blocks(): string[] {
  const document = readFileSync(join(root, "docs/mounting.md"), "utf8");
  const [, section = ""] = /\n## Next\.js\n([\s\S]*?)\n## /.exec(document) ?? [];
  return [...section.matchAll(/```tsx?\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
}

async function buildAndPay(project: Project): Promise<void> {
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
}

function drive(project: Project, port: number, socketUrl: string, ...command: readonly string[]): void {
  const url = `http://127.0.0.1:${port}`;
  process.stdout.write(project.driveWith({ PAGE: `${url}/?chat=stranger` }, `${url}/agent`, socketUrl, ...command));
}
