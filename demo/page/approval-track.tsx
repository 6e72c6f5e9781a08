import type { ApprovalView } from "adk-stream-protocol/protocol";
import { callSummary, clockTime } from "./format.ts";
import { useWords } from "./preferences.ts";
import { trackOf, type Stop } from "./track.ts";
import { VisibleText } from "./visible-text.tsx";

const stopX = [14, 122, 230, 338] as const;
const mainY = 16;
const branchY = 58;

/** One approval's way through its states, drawn as a line with stops and, where it left the line, a branch. */
export function ApprovalTrack({ row }: { row: ApprovalView }) {
  const { t, language } = useWords();
  const { reached, at, branch } = trackOf(row);
  const names = [t.track.asked, t.track.approved, t.track.running, t.track.done];
  const end = branch ? t.tags[branch] : names[reached];
  const summary = callSummary(row.input);
  const times = [row.createdAt, row.decidedAt, undefined, row.finishedAt];
  const path = names.slice(0, reached + 1).join(", ") + (branch ? `, ${t.tags[branch]}` : "");
  const tone = toneOf(branch, at);

  return (
    <li className={`track track-${tone}`} data-state={row.state}>
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
        <span className="track-end">{end}</span>
      </div>
      <svg viewBox={`0 0 352 ${branch ? 78 : 44}`} role="img" aria-label={`${row.toolName} ${summary}: ${path}`}>
        <path className="rail" d={`M${stopX[0]} ${mainY}H${stopX[3]}`} />
        {reached > 0 && <path className="rail-done" d={`M${stopX[0]} ${mainY}H${stopX[reached]}`} />}
        {branch && <path className="rail-branch" d={branchPath(stopX[reached] ?? 0)} />}
        {names.map((name, index) => (
          <g key={name} className={stopClass(index, reached, at, branch !== undefined)}>
            <circle cx={stopX[index]} cy={mainY} r={index === reached && !branch ? 7 : 5.5} />
            {(!branch || index <= reached) && (
              <text x={stopX[index]} y={38} textAnchor={index === 0 ? "start" : index === 3 ? "end" : "middle"} dx={index === 0 ? -8 : index === 3 ? 8 : 0}>
                {name}
              </text>
            )}
            {times[index] !== undefined && index <= reached && (
              <title>{`${name} ${clockTime(times[index], language)}`}</title>
            )}
          </g>
        ))}
        {branch && (
          <g className="stop stop-branch">
            <circle cx={(stopX[reached] ?? 0) + 70} cy={branchY} r={7} />
            <text x={(stopX[reached] ?? 0) + 84} y={branchY + 4} textAnchor="start">
              {t.tags[branch]}
              {row.finishedAt !== undefined && ` · ${clockTime(row.finishedAt, language)}`}
            </text>
          </g>
        )}
      </svg>
    </li>
  );
}

function branchPath(x: number): string {
  return `M${x} ${mainY}c0 26 10 ${branchY - mainY} 40 ${branchY - mainY}h30`;
}

function stopClass(index: number, reached: number, at: Stop, branched: boolean): string {
  if (index > reached) return "stop";
  return index === reached && at === "waiting" && !branched ? "stop stop-here" : "stop stop-done";
}

function toneOf(branch: ReturnType<typeof trackOf>["branch"], at: Stop): string {
  if (branch === "denied" || branch === "failed") return "no";
  if (branch) return "off";
  return at === "waiting" ? "wait" : at === "over" ? "ok" : "go";
}
