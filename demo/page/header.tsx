import type { ConnectionState as State } from "adk-stream-protocol/client";
import { ConnectionState } from "adk-stream-protocol/react";
import type { Health } from "./api.ts";
import { type Mode, modes } from "./mode.ts";
import { themes, useWords, type Preferences } from "./preferences.ts";
import { strings, type Language } from "./strings.ts";

export interface HeaderProps {
  health: Health | undefined;
  /** The name of the agent, if the server tells. */
  name: string | undefined;
  preferences: Preferences;
  /** The state of the WebSocket. Undefined in SSE, which has none. */
  connection: State | undefined;
  mode: Mode;
  /** A reply is being received. */
  busy: boolean;
  onMode: (mode: Mode) => void;
  onNewChat: () => void;
  /** The list of chats. */
  chats: { isOpen: boolean; waiting: number; toggle: () => void };
  onShortcuts: () => void;
}

export function Header(props: HeaderProps) {
  const { health, name, preferences, connection, mode, busy, onMode, onNewChat, chats, onShortcuts } = props;
  const { t } = useWords();
  const { theme, language } = preferences;
  const nextTheme = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto";
  return (
    <header className="top">
      <button
        type="button"
        className="icon-button chats-button"
        aria-label={t.chats.open(chats.waiting)}
        title={t.chats.open(chats.waiting)}
        aria-expanded={chats.isOpen}
        data-waiting={chats.waiting > 0 ? chats.waiting : undefined}
        onClick={chats.toggle}
      >
        <svg width="18" height="18" viewBox="0 0 18 18" fill="none" stroke="currentColor" aria-hidden="true">
          <path d="M3 5h12M3 9h12M3 13h8" strokeWidth="1.7" strokeLinecap="round" />
        </svg>
      </button>
      <h1 title={name}>{name ?? "adk-stream-protocol"}</h1>
      <ModeSwitch mode={mode} busy={busy} onMode={onMode} />
      <ConnectionState connection={connection} always className="connection" />
      <span className="grow" />
      <ModelName health={health} mode={mode} />
      <div className="segments segments-language" role="group" aria-label={t.languageLabel}>
        {(Object.keys(strings) as Language[]).map((code) => (
          <button
            key={code}
            type="button"
            lang={code}
            aria-pressed={code === language}
            onClick={() => preferences.setLanguage(code)}
          >
            {strings[code].languageName}
          </button>
        ))}
      </div>
      <button
        type="button"
        className="icon-button"
        aria-label={`${t.themeLabel}: ${t.themes[theme]}`}
        title={`${t.themeLabel}: ${t.themes[theme]}`}
        onClick={() => preferences.setTheme(nextTheme)}
      >
        <ThemeIcon theme={theme} />
      </button>
      <button
        type="button"
        className="icon-button keys-button"
        aria-label={t.shortcuts.title}
        title={`${t.shortcuts.title} (?)`}
        onClick={onShortcuts}
      >
        ?
      </button>
      <button type="button" className="button button-small new-chat" onClick={onNewChat} aria-label={t.newChat}>
        <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M8 2.5v11M2.5 8h11" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
        </svg>
        <span className="wide">{t.newChat}</span>
      </button>
    </header>
  );
}

/** The mode cannot be changed during a reply, because one reply should not arrive over two wires. */
function ModeSwitch({ mode, busy, onMode }: Pick<HeaderProps, "mode" | "busy" | "onMode">) {
  const { t } = useWords();
  return (
    <div className="segments segments-mode" role="group" aria-label={t.modeLabel}>
      {modes.map((one) => {
        const blocked = busy && one !== mode;
        return (
          <button
            key={one}
            type="button"
            aria-pressed={one === mode}
            aria-disabled={blocked}
            title={blocked ? t.modeBusy : t.modeTitles[one]}
            onClick={() => !blocked && onMode(one)}
          >
            {one.toUpperCase()}
          </button>
        );
      })}
    </div>
  );
}

export function ModelName({ health, mode }: { health: Health | undefined; mode: Mode }) {
  const { t } = useWords();
  if (!health) return null;
  const name = mode === "bidi" ? (health.liveModel ?? health.model) : health.model;
  return (
    <span className="model" title={name}>
      <span className="visually-hidden">{t.modelLabel}: </span>
      {health.scripted ? t.scriptedModel : name}
    </span>
  );
}

function ThemeIcon({ theme }: { theme: Preferences["theme"] }) {
  return (
    <svg
      width="18"
      height="18"
      viewBox="0 0 18 18"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      aria-hidden="true"
    >
      {theme === "auto" && (
        <>
          <circle cx="9" cy="9" r="6.2" />
          <path d="M9 2.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor" />
        </>
      )}
      {theme === "light" && (
        <>
          <circle cx="9" cy="9" r="3.2" />
          <path
            d="M9 1.5v1.8M9 14.7v1.8M1.5 9h1.8M14.7 9h1.8M3.7 3.7 5 5M13 13l1.3 1.3M3.7 14.3 5 13M13 5l1.3-1.3"
            strokeLinecap="round"
          />
        </>
      )}
      {theme === "dark" && <path d="M15 10.8A6.4 6.4 0 0 1 7.2 3a6.4 6.4 0 1 0 7.8 7.8z" strokeLinejoin="round" />}
    </svg>
  );
}
