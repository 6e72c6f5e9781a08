import { callWords, VisibleText } from "adk-stream-protocol/react";
import { type ApprovalView, textIn } from "adk-stream-protocol/protocol";
import { clockTime } from "./format.ts";
import { useWords } from "./preferences.ts";
import { trackOf, type Track } from "./track.ts";

const railStart = 8;
const railEnd = 344;
const railY = 26;
const branchY = 50;
const branchLength = 46;

/** Draws the states that one approval went through: a line with stops, and a branch if it was not completed. */
export function ApprovalTrack({ row, onShow }: { row: ApprovalView; onShow: (approvalId: string) => void }) {
  const { t, language } = useWords();
  const track = trackOf(row);
  const { stops, branch } = track;
  const reached = stops.indexOf(track.reached);
  const names = stops.map((stop) => t.track[stop]);
  const end = branch ? t.branches[branch] : track.at === "asked" ? t.waitsForYou : names[reached];
  const endedAt = row.finishedAt ?? row.decidedAt ?? row.createdAt;
  const title = row.card?.title === undefined ? row.toolName : textIn(row.card.title, language);
  const summary = callWords(row.input, row.card?.fields, language);
  const path = [...names.slice(0, reached + 1), ...(branch ? [t.tags[branch]] : [])].join(", ");
  const xOf = (index: number) => railStart + ((railEnd - railStart) * index) / (stops.length - 1);
  const x = xOf(reached);
  // A branch near the end of the line has room on its left only.
  const side = x > (railStart + railEnd) * 0.7 ? -1 : 1;

  return (
    <li className={`track track-${toneOf(track)}`} data-state={row.state}>
      <div className="track-title">
        <button type="button" className="track-link" onClick={() => onShow(row.approvalId)}>
          <VisibleText text={title} />
          {summary && (
            <>
              {" · "}
              <VisibleText text={summary} />
            </>
          )}
        </button>
        <span className="track-end">
          {end} <time>{clockTime(endedAt, language)}</time>
        </span>
      </div>
      <svg viewBox={`0 0 352 ${branch ? 60 : 36}`} role="img" aria-label={`${title} ${summary}: ${path}`}>
        <path className="rail" d={`M${railStart} ${railY}H${railEnd}`} />
        {reached > 0 && <path className="rail-done" d={`M${railStart} ${railY}H${x}`} />}
        {branch && (
          <path
            className="rail-branch"
            d={`M${x} ${railY}c0 16 ${8 * side} 24 ${24 * side} 24h${(branchLength - 24) * side}`}
          />
        )}
        {names.map((name, index) => (
          <g key={name} className={stopClass(index, reached, track)}>
            <circle cx={xOf(index)} cy={railY} r={index === reached && !branch ? 7 : 5} />
            <text x={xOf(index)} y={12} {...anchorOf(index, stops.length)}>
              {name}
            </text>
          </g>
        ))}
        {branch && (
          <g className="stop stop-branch">
            <circle cx={x + branchLength * side} cy={branchY} r={7} />
            <text x={x + (branchLength + 13) * side} y={branchY + 4} textAnchor={side > 0 ? "start" : "end"}>
              {t.branches[branch]}
            </text>
          </g>
        )}
      </svg>
    </li>
  );
}

/** The names at both ends of the line begin and end with it. */
function anchorOf(index: number, count: number): { textAnchor: "start" | "middle" | "end"; dx: number } {
  if (index === 0) return { textAnchor: "start", dx: -7 };
  return index === count - 1 ? { textAnchor: "end", dx: 7 } : { textAnchor: "middle", dx: 0 };
}

function stopClass(index: number, reached: number, { at, branch }: Track): string {
  if (index > reached) return branch ? "stop stop-missed" : "stop";
  return index === reached && (at === "asked" || at === "waiting") ? "stop stop-here" : "stop stop-done";
}

function toneOf({ branch, at }: Track): "no" | "off" | "wait" | "ok" | "go" {
  if (branch === "denied" || branch === "failed") return "no";
  if (branch === "unknown") return "wait";
  if (branch) return "off";
  return at === "asked" ? "wait" : at === "over" ? "ok" : "go";
}
