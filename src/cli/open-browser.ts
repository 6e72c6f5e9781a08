import { spawn } from "node:child_process";

type Env = Record<string, string | undefined>;

/** Whether there is a person in front of this terminal and a screen to open a page on. */
export function canOpenBrowser(env: Env, isTerminal: boolean, platform: NodeJS.Platform): boolean {
  if (!isTerminal || env["CI"] || env["SSH_CONNECTION"]) return false;
  return platform === "darwin" || platform === "win32" || Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
}

/** Opens a page in the default browser. A failure is not worth a word: the address is on the screen. */
export function openBrowser(url: string, platform: NodeJS.Platform): void {
  const [command, ...args] =
    platform === "darwin" ? ["open"] : platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  const child = spawn(command ?? "", [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
