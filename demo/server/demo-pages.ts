import { loadStaticPage, type StaticPage } from "adk-stream-protocol/server";

/** The page for each major of AI SDK. `/?ai=6` and `/v6/` are both the page for AI SDK 6. */
export function loadDemoPages({ v7, v6 }: { v7: string; v6: string }): StaticPage {
  const page = loadStaticPage({ "/": v7, "/v6/": v6 });
  return {
    respond(request) {
      const url = new URL(request.url);
      const isV6 = url.pathname === "/" && url.searchParams.get("ai") === "6";
      return page.respond(isV6 ? new Request(new URL("/v6/", url), request) : request);
    },
  };
}
