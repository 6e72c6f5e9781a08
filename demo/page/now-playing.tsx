import { useSyncExternalStore } from "react";
import type { Music } from "./music.ts";
import { useWords } from "./preferences.ts";

/** The track that plays in this page, and a button that stops it. */
export function NowPlaying({ music }: { music: Music }) {
  const { t } = useWords();
  const { track, audible } = useSyncExternalStore(music.subscribe, music.state);
  if (track === undefined) return null;
  return (
    <div className="playing" data-testid="now-playing" data-track={track}>
      <span className={audible ? "bars" : "bars bars-still"} aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span>{audible ? t.nowPlaying(track) : t.silent(track)}</span>
      <button type="button" onClick={() => music.stop()} aria-label={t.stopMusic}>
        <span className="stop-square" aria-hidden="true" />
      </button>
    </div>
  );
}
