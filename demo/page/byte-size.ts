import type { Language } from "./strings.ts";

const units = ["B", "KiB", "MiB", "GiB"];

/** A size as a person reads it: `1.5 KiB`. */
export function byteSize(bytes: number, language: Language): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = new Intl.NumberFormat(language === "ja" ? "ja-JP" : "en-US", { maximumFractionDigits: 1 });
  return `${digits.format(value)} ${units[unit]}`;
}

/** How many bytes a data URL in base64 has; undefined for another address. */
export function dataUrlBytes(url: string): number | undefined {
  const comma = url.indexOf(",");
  if (!/^data:[^,]*;base64$/i.test(url.slice(0, Math.max(0, comma)))) return undefined;
  const base64 = url.length - comma - 1;
  const padding = url.endsWith("==") ? 2 : url.endsWith("=") ? 1 : 0;
  return Math.floor((base64 * 3) / 4) - padding;
}
