import { useState } from "react";
import type { AgentInfo } from "./debug-api.ts";
import { clockTime } from "./format.ts";
import { useWords } from "./preferences.ts";
import { VisibleText } from "adk-stream-protocol/react";

/** Says what is wrong with the agent's file, or that the agent was reloaded while the page was open. */
export function AgentNotice({ agent }: { agent: AgentInfo }) {
  const { t, language } = useWords();
  const words = t.panel.agent;
  const [openedWith] = useState(agent.loadedAt);
  if (agent.problem !== undefined)
    return (
      <div className="agent-notice notice notice-error" role="alert">
        <div>
          <p className="notice-title">{words.problem}</p>
          <p className="outside">
            <VisibleText text={agent.problem} />
          </p>
          <p className="small">{words.keepsRunning}</p>
        </div>
      </div>
    );
  if (agent.loadedAt === openedWith) return null;
  return (
    <p className="agent-notice muted small" role="status">
      {words.reloaded(clockTime(agent.loadedAt, language))}
    </p>
  );
}
