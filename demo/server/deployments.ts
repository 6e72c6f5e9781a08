import { randomBytes } from "node:crypto";

/** What to deploy, and where. */
export interface DeploymentOrder {
  service: string;
  environment: string;
}

/** What a deployment says when it has begun. */
export interface Started {
  status: "deploying";
  message: string;
  deployment: string;
}

export type Report =
  | { result: { status: "live"; deployment: string; service: string; environment: string } }
  | { error: string };

/** Takes a report. Rejects with `code: "conflict"` if the call has another outcome, and otherwise if it may be tried again. */
export type TakeReport = (owner: string, key: string, report: Report) => Promise<unknown>;

/**
 * A service outside the agent that takes its time and then reports what came of each deployment. It keeps them in a
 * database, so it also reports those that were begun before a restart.
 */
export interface Deployments {
  /**
   * Begins a deployment, or finds the one that was begun with this key. While the database is away it tries again until the
   * signal ends it.
   */
  begin(owner: string, key: string, order: DeploymentOrder, signal?: AbortSignal): Promise<Started>;
  /** Reports the deployments that have ended. */
  reportEnded(take: TakeReport): Promise<void>;
  close(): Promise<void>;
}

/** A service with “silent” in its name never reports, so that a visitor can see a call whose outcome is not known. */
export function neverReports({ service }: DeploymentOrder): boolean {
  return /silent/i.test(service);
}

export function newDeploymentId(): string {
  return `dep_${randomBytes(4).toString("hex")}`;
}

/** What a deployment says when it has begun. */
export function started(deployment: string, { environment }: DeploymentOrder): Started {
  return { status: "deploying", message: `Rolling out to ${environment}.`, deployment };
}

/** True if a report was refused for good: the call has another outcome, or its chat is gone. */
export function isRefused(error: unknown): boolean {
  return ["conflict", "not_found"].includes(String((error as { code?: unknown }).code));
}

/** The report of a deployment that has ended. A service with “broken” in its name fails, so that a visitor can see this too. */
export function reportOf(row: Record<string, unknown>): Report {
  const [deployment, service, environment] = ["id", "service", "environment"].map((name) => String(row[name]));
  if (/broken/i.test(service ?? "")) return { error: "The health check failed. The old version runs again." };
  return {
    result: { status: "live", deployment: deployment ?? "", service: service ?? "", environment: environment ?? "" },
  };
}
