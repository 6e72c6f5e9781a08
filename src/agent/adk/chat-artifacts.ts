import type { BaseArtifactService, InvocationContext } from "@google/adk";
import { outermostSession } from "./agent-tool.ts";

/** ADK exports neither of these types. */
type SessionKey = Parameters<BaseArtifactService["listArtifactKeys"]>[0];
type SessionArtifacts = NonNullable<InvocationContext["artifactService"]>;

/**
 * Artifacts belong to the chat. An agent that is run as a tool has a session of its own, but ADK forwards its artifacts to
 * the session of its caller, and so do we.
 */
export function chatArtifacts(service: BaseArtifactService, appName: string): BaseArtifactService {
  const ofChat = <T extends SessionKey>(request: T): T => ({
    ...request,
    appName,
    sessionId: outermostSession(request.sessionId),
  });
  return {
    saveArtifact: (request) => service.saveArtifact(ofChat(request)),
    loadArtifact: (request) => service.loadArtifact(ofChat(request)),
    listArtifactKeys: (request) => service.listArtifactKeys(ofChat(request)),
    deleteArtifact: (request) => service.deleteArtifact(ofChat(request)),
    listVersions: (request) => service.listVersions(ofChat(request)),
    listArtifactVersions: (request) => service.listArtifactVersions(ofChat(request)),
    getArtifactVersion: (request) => service.getArtifactVersion(ofChat(request)),
  };
}

/** Deletes the artifacts of a chat. Those of the user, whose names say so, are in no chat. */
export async function deleteArtifacts(service: BaseArtifactService | undefined, chat: SessionKey): Promise<void> {
  for (const filename of (await service?.listArtifactKeys(chat)) ?? [])
    if (!filename.startsWith("user:")) await service?.deleteArtifact({ ...chat, filename });
}

/** The artifacts of one session, as a tool gets them. ADK makes this itself for calls in its loop. */
export function sessionArtifacts(service: BaseArtifactService, session: SessionKey): SessionArtifacts {
  return {
    saveArtifact: (request) => service.saveArtifact({ ...session, ...request }),
    loadArtifact: (request) => service.loadArtifact({ ...session, ...request }),
    listArtifactKeys: () => service.listArtifactKeys(session),
    deleteArtifact: (filename) => service.deleteArtifact({ ...session, filename }),
    listVersions: (filename) => service.listVersions({ ...session, filename }),
    listArtifactVersions: (filename) => service.listArtifactVersions({ ...session, filename }),
    getArtifactVersion: (request) => service.getArtifactVersion({ ...session, ...request }),
  };
}
