import { createContext, useContext, useEffect, useState } from "react";
import { type Mode, toMode } from "./mode.ts";
import { strings, type Language, type Strings } from "./strings.ts";

export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export interface Preferences {
  language: Language;
  theme: Theme;
  setLanguage: (language: Language) => void;
  setTheme: (theme: Theme) => void;
}

/** Language and theme, remembered in this browser. */
export function usePreferences(): Preferences {
  const [language, setLanguage] = useState<Language>(storedLanguage);
  const [theme, setTheme] = useState<Theme>(storedTheme);
  useEffect(() => {
    document.documentElement.lang = language;
    remember("language", language);
  }, [language]);
  useEffect(() => {
    showTheme(theme);
    remember("theme", theme);
  }, [theme]);
  return { language, theme, setLanguage, setTheme };
}

/** Applies a theme. Called before the first paint, so that a dark page never flashes white. */
export function showTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function storedTheme(): Theme {
  const stored = recall("theme");
  return themes.find((theme) => theme === stored) ?? "auto";
}

function storedLanguage(): Language {
  const stored = recall("language");
  if (stored === "en" || stored === "ja") return stored;
  return navigator.language.toLowerCase().startsWith("ja") ? "ja" : "en";
}

/** The mode that was chosen last in this browser. The mode in the address takes precedence. */
export const storedMode = (): Mode | undefined => toMode(recall("mode"));
export const rememberMode = (mode: Mode): void => remember("mode", mode);

/** Whether the single-key shortcuts are on. */
export const hasShortcuts = (): boolean => recall("shortcuts") !== "off";
export const rememberShortcuts = (isOn: boolean): void => remember("shortcuts", isOn ? "on" : "off");

/** Whether the list of chats is shown where there is room for it. */
export const wantsChatSide = (): boolean => recall("chat-side") !== "off";
export const rememberChatSide = (isOn: boolean): void => remember("chat-side", isOn ? "on" : "off");

// The browser may forbid storage. Preferences then last until the page is closed.
function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    return;
  }
}

function recall(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export interface Words {
  t: Strings;
  language: Language;
}

export const WordsContext = createContext<Words>({ t: strings.en, language: "en" });
export const useWords = (): Words => useContext(WordsContext);
