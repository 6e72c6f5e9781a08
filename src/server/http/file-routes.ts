import { BridgeError } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import type { Route, RouteContext } from "./route.ts";

/** Types that a browser shows without running anything in them. All others are downloaded. */
const shownTypes: readonly RegExp[] = [
  /^image\/(png|jpeg|webp|gif|heic|heif|avif|bmp)$/,
  /^audio\/[a-z0-9.+-]+$/,
  /^application\/(pdf|json)$/,
  /^text\/(plain|markdown|csv)$/,
];

/** Files of the owner's chats. */
export function fileRoutes({ bridge }: Pick<RouteContext, "bridge">): Route[] {
  return [
    {
      path: /^\/files\/([^/]+)$/,
      methods: {
        async GET({ owner, id }) {
          const file = await bridge.file(owner, id);
          if (!file) throw new BridgeError("not_found", `There is no file ${quote(id)}.`);
          return fileResponse(file);
        },
      },
    },
  ];
}

function fileResponse({ mediaType, name, data }: { mediaType: string; name?: string; data: Uint8Array }): Response {
  const isShown = shownTypes.some((type) => type.test(mediaType));
  const isText = mediaType.startsWith("text/");
  // A copy over a buffer of its own, as `Response` wants it.
  return new Response(new Uint8Array(data), {
    headers: {
      "content-type": isShown ? `${mediaType}${isText ? "; charset=utf-8" : ""}` : "application/octet-stream",
      "content-length": String(data.byteLength),
      "content-disposition": disposition(isShown ? "inline" : "attachment", name),
      // The content comes from users, models and tools: it may look at nothing and run nothing.
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      // An address always has the same content. Only the owner's own browser may keep it.
      "cache-control": "private, max-age=86400, immutable",
    },
  });
}

/** RFC 6266, with the name in the form that takes every character. */
function disposition(kind: "inline" | "attachment", name: string | undefined): string {
  if (name === undefined) return kind;
  const encoded = encodeURIComponent(name.replaceAll(/\p{Surrogate}/gu, "\uFFFD")).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename*=UTF-8''${encoded}`;
}
