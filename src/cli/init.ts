/** Writes a small application into a folder. */
export async function init(folder: string, print: (line: string) => void): Promise<void> {
  print(folder);
}
