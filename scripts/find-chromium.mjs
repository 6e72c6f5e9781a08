// Plain JavaScript without dependencies, because `setup.mjs` uses it before anything is installed.
import { accessSync, constants } from "node:fs";

const knownPaths = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome",
  "/snap/bin/chromium",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/**
 * The path of Chromium. If `CHROMIUM_PATH` is set, no other path is tried, so that a wrong value is noticed.
 *
 * @returns {string | undefined}
 */
export function findChromium() {
  const asked = process.env.CHROMIUM_PATH;
  return (asked ? [asked] : knownPaths).find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
