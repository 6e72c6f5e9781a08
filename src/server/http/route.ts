import type { Bridge, Logger } from "../../agent/index.ts";
import type { Identity } from "../../protocol/index.ts";
import type { Confirmation } from "../views/index.ts";
import type { GuardOptions } from "./guard.ts";

/** One path and what each of its methods does. */
export interface Route {
  path: RegExp;
  methods: Record<string, (call: Call) => Promise<Response>>;
}

/** One request of a known owner. */
export interface Call {
  request: Request;
  url: URL;
  owner: string;
  identity: Identity;
  /** The id in the path, if the route has one. */
  id: string;
}

/** What the routes need from the handler's options. */
export interface RouteContext extends GuardOptions {
  bridge: Bridge;
  logger: Logger;
  maxBodyBytes: number;
  /** The dialect for connections that do not choose one. */
  confirmation?: Confirmation;
}
