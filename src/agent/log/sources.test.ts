import { createEvent } from "@google/adk";
import { describe, expect, it } from "vitest";
import { sourcesOf } from "./sources.ts";

describe("the sources of an event", () => {
  it("come from grounding: pages, places, pictures and documents", () => {
    const groundingChunks = [
      { web: { uri: "https://example.com/a", title: "A" } },
      { maps: { uri: "https://maps.example/1", title: "Place" } },
      { image: { sourceUri: "https://example.com/picture", title: "Picture" } },
      { retrievedContext: { uri: "gs://bucket/doc", title: "Doc" } },
      { retrievedContext: { title: "Untold" } },
      { retrievedContext: { uri: "gs://bucket/untitled" } },
    ];
    const chunks = sourcesOf(createEvent({ groundingMetadata: { groundingChunks } })).map(({ chunk }) => chunk);
    const picture = "https://example.com/picture";
    expect(chunks).toEqual([
      { type: "source-url", sourceId: "https://example.com/a", url: "https://example.com/a", title: "A" },
      { type: "source-url", sourceId: "https://maps.example/1", url: "https://maps.example/1", title: "Place" },
      { type: "source-url", sourceId: picture, url: picture, title: "Picture" },
      { type: "source-document", sourceId: "gs://bucket/doc", mediaType: "text/plain", title: "Doc" },
      { type: "source-document", sourceId: "Untold", mediaType: "text/plain", title: "Untold" },
      {
        type: "source-document",
        sourceId: "gs://bucket/untitled",
        mediaType: "text/plain",
        title: "gs://bucket/untitled",
      },
    ]);
  });

  it("come from citations, after those from grounding", () => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: "https://example.com/a" } }] };
    const citationMetadata = { citations: [{ uri: "https://example.com/b", title: "B" }] };
    const keys = sourcesOf(createEvent({ groundingMetadata, citationMetadata })).map(({ key }) => key);
    expect(keys).toEqual(["https://example.com/a", "https://example.com/b"]);
  });

  it("leave out what has no address and no title", () => {
    const groundingMetadata = { groundingChunks: [{ web: {} }, { retrievedContext: {} }, {}] };
    const citationMetadata = { citations: [{ startIndex: 3 }] };
    expect(sourcesOf(createEvent({ groundingMetadata, citationMetadata }))).toEqual([]);
    expect(sourcesOf(createEvent())).toEqual([]);
  });
});
