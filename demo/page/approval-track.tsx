import type { ApprovalView } from "adk-stream-protocol/protocol";
import { callSummary, clockTime } from "./format.ts";
import { useWords } from "./preferences.ts";
import { trackOf, type Track } from "./track.ts";
import { VisibleText } from "./visible-text.tsx";

const stopX = [8, 120, 232, 344] as const;
const railY = 26;
const branchY = 50;
const branchLength = 46;

/** Draws the states that one approval went through: a line with stops, and a branch if it was not completed. */
export function ApprovalTrack({ row }: { row: ApprovalView }) {
  const { t, language } = useWords();
  const track = trackOf(row);
  const { reached, branch } = track;
  const names = [t.track.asked, t.track.approved, t.track.running, t.track.done];
  const end = branch ? t.branches[branch] : track.at === "waiting" ? t.track.waiting : names[reached];
  const endedAt = row.finishedAt ?? row.decidedAt ?? row.createdAt;
  const summary = callSummary(row.input);
  const path = [...names.slice(0, reached + 1), ...(branch ? [t.tags[branch]] : [])].join(", ");
  const x = stopX[reached];

  return (
    <li className={`track track-${toneOf(track)}`} data-state={row.state}>
      <div className="track-title">
        <span>
          {row.toolName}
          {summary && (
            <>
              {" · "}
              <VisibleText text={summary} />
            </>
          )}
        </span>
        <span className="track-end">
          {end} <time>{clockTime(endedAt, language)}</time>
        </span>
      </div>
      <svg viewBox={`0 0 352 ${branch ? 60 : 36}`} role="img" aria-label={`${row.toolName} ${summary}: ${path}`}>
        <path className="rail" d={`M${stopX[0]} ${railY}H${stopX[3]}`} />
        {reached > 0 && <path className="rail-done" d={`M${stopX[0]} ${railY}H${x}`} />}
        {branch && <path className="rail-branch" d={`M${x} ${railY}c0 16 8 24 24 24h${branchLength - 24}`} />}
        {names.map((name, index) => (
          <g key={name} className={stopClass(index, track)}>
            <circle cx={stopX[index]} cy={railY} r={index === reached && !branch ? 7 : 5} />
            <text x={stopX[index]} y={12} textAnchor={anchorOf(index)} dx={index === 0 ? -7 : index === 3 ? 7 : 0}>
              {name}
            </text>
          </g>
        ))}
        {branch && (
          <g className="stop stop-branch">
            <circle cx={x + branchLength} cy={branchY} r={7} />
            <text x={x + branchLength + 13} y={branchY + 4}>
              {t.branches[branch]}
            </text>
          </g>
        )}
      </svg>
    </li>
  );
}

function anchorOf(index: number): "start" | "middle" | "end" {
  return index === 0 ? "start" : index === 3 ? "end" : "middle";
}

function stopClass(index: number, { reached, at, branch }: Track): string {
  if (index > reached) return branch ? "stop stop-missed" : "stop";
  return index === reached && at === "waiting" ? "stop stop-here" : "stop stop-done";
}

function toneOf({ branch, at }: Track): "no" | "off" | "wait" | "ok" | "go" {
  if (branch === "denied" || branch === "failed") return "no";
  if (branch === "unknown") return "wait";
  if (branch) return "off";
  return at === "waiting" ? "wait" : at === "over" ? "ok" : "go";
}
