import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { metrics } from "../../src/agent/support/metrics.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("docs/operations.md");
const names = Object.values(metrics).flatMap((group) => Object.values(group).map(({ name }) => name));

describe("docs/operations.md", () => {
  it("shows examples that are compiled and run with the tests", () => {
    const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
    expect(blocks.length).toBeGreaterThan(0);
    const examples = read("test/contracts/operations-example.test.ts");
    for (const block of blocks) expect(examples).toContain(block);
  });

  it("lists every metric, and no others", () => {
    const listed = [...page.matchAll(/^\| `(adk_stream_protocol\.[a-z_.]+)`/gm)].map(([, name = ""]) => name);
    expect(listed.toSorted()).toEqual(names.toSorted());
  });

  it("has queries only for metrics that exist, with the names that Prometheus gives them", () => {
    const known = new Set(names.map((name) => name.replaceAll(".", "_")));
    const queried = [...page.matchAll(/adk_stream_protocol_[a-z_]+/g)].map(([name]) =>
      name.replace(/(_seconds)?(_bucket|_count|_total)?$/, ""),
    );
    expect(queried.length).toBeGreaterThan(0);
    for (const name of queried) expect([...known]).toContain(name);
  });

  it("names only files that exist", () => {
    const links = [...page.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = ""]) => link);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(() => read(`docs/${link}`), link).not.toThrow();
  });
});
