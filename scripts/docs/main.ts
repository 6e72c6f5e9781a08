// Builds the documentation site into .site.
//
//   npm run docs                          builds it; open .site/index.html
//   npm run docs -- --serve               builds it and serves it at http://127.0.0.1:4000
//   npm run docs -- --serve --port 4001
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildSite } from "./build-site.ts";
import { serveSite } from "./serve-site.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, ".site");
const { values } = parseArgs({
  options: { serve: { type: "boolean", default: false }, port: { type: "string", default: "4000" } },
});

const pages = buildSite(root, folder);
process.stdout.write(`${pages.length} pages in .site\n`);
if (values.serve) {
  await serveSite(folder, Number(values.port));
  process.stdout.write(`The documentation is at http://127.0.0.1:${values.port}\n`);
}
