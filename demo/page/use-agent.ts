import { useEffect, useState } from "react";
import type { Health } from "./api.ts";
import { type AgentInfo, fetchAgent } from "./debug-api.ts";

const everyMs = 2000;

/** The agent of a development server, read again and again because it may be reloaded. Undefined in the demo. */
export function useAgent(health: Health | undefined): AgentInfo | undefined {
  const [agent, setAgent] = useState<AgentInfo>();
  const isWanted = health !== undefined && health.demo !== true && health.debug === true;
  useEffect(() => {
    if (!isWanted) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      clearTimeout(timer);
      // If the server is away, the page says so elsewhere.
      const found = document.hidden ? undefined : await fetchAgent().catch(() => undefined);
      if (isOver) return;
      if (found) setAgent((before) => (JSON.stringify(before) === JSON.stringify(found) ? before : found));
      timer = setTimeout(() => void look(), everyMs);
    };
    void look();
    const lookIfVisible = () => void (document.hidden || look());
    document.addEventListener("visibilitychange", lookIfVisible);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", lookIfVisible);
    };
  }, [isWanted]);
  return agent;
}
