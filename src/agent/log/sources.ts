import type { Event } from "@google/adk";
import type { CitationMetadata, GroundingMetadata } from "@google/genai";
import type { UIMessageChunk } from "ai";

/** A source the model names. Its id is its address, so a continued message does not count from one again. */
export interface Source {
  key: string;
  chunk: UIMessageChunk;
}

/** The sources of an event, from grounding and citations. Pure. */
export function sourcesOf({ groundingMetadata, citationMetadata }: Event): Source[] {
  return [...groundingSources(groundingMetadata), ...citationSources(citationMetadata)];
}

function groundingSources(metadata: GroundingMetadata | undefined): Source[] {
  return (metadata?.groundingChunks ?? []).flatMap(({ web, maps, image, retrievedContext }): Source[] => {
    const page = web ?? maps ?? (image && { uri: image.sourceUri, title: image.title });
    if (page?.uri) return [urlSource(page.uri, page.title)];
    const title = retrievedContext?.title ?? retrievedContext?.uri;
    if (!title) return [];
    const key = retrievedContext?.uri ?? title;
    return [{ key, chunk: { type: "source-document", sourceId: key, mediaType: "text/plain", title } }];
  });
}

function citationSources(metadata: CitationMetadata | undefined): Source[] {
  return (metadata?.citations ?? []).flatMap(({ uri, title }) => (uri ? [urlSource(uri, title)] : []));
}

function urlSource(url: string, title: string | undefined): Source {
  return { key: url, chunk: { type: "source-url", sourceId: url, url, ...(title && { title }) } };
}
