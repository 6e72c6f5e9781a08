/** The compressed forms of a file and how their names end, the smallest first. */
export const encodings = { br: ".br", gzip: ".gz" } as const;
export type Encoding = keyof typeof encodings;

/** The form to send: the first that the client accepts and that there is. Undefined for the file itself. */
export function chooseEncoding(
  acceptEncoding: string | null,
  available: Partial<Record<Encoding, unknown>>,
): Encoding | undefined {
  const accepted = new Set<string>();
  for (const item of (acceptEncoding ?? "").slice(0, 1000).toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((piece) => piece.trim());
    // q=0 means that the client does not accept it.
    if (!parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) accepted.add(name);
  }
  return (Object.keys(encodings) as Encoding[]).find((name) => accepted.has(name) && available[name] !== undefined);
}
