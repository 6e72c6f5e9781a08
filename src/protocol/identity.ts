import { BridgeError } from "./errors.ts";

/** Who a request comes from. One owner may have many actors, for example the members of a team. */
export interface Identity {
  /** Whose chats the request may use. */
  owner: string;
  /** Who sends the request. Rows and the audit name the actor. An actor's name means the same for every owner. */
  actor: string;
}

/** An identity, or an owner that acts for itself. */
export type OwnerOrIdentity = string | Identity;

/** The identity with both names. Throws if one of them is not a name. */
export function toIdentity(who: OwnerOrIdentity): Identity {
  const { owner, actor } = typeof who === "string" ? { owner: who, actor: who } : who;
  for (const [field, name] of Object.entries({ owner, actor }))
    if (!isName(name)) throw new BridgeError("invalid", `The ${field} must be ${nameRule}.`);
  return { owner, actor };
}

/** What an owner or an actor must be, for error sentences. */
export const nameRule = "non-empty, well-formed text without NUL characters";

/** True for text that is not empty and that every store returns unchanged. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !/\p{Surrogate}|\0/u.test(value);
}
