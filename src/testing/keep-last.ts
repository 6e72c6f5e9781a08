/** Adds an entry to a list and removes the oldest ones beyond `max`. */
export function keepLast<T>(list: T[], entry: T, max: number): void {
  list.push(entry);
  if (list.length > max) list.splice(0, list.length - max);
}
