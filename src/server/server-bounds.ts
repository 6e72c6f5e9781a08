import { Quota } from "../protocol/quota.ts";
import { FairReads } from "./fair-reads.ts";
import { OwnerRates } from "./owner-rates.ts";
import { readServerLimits, type ServerLimits } from "./server-limits.ts";

/** When an owner whose bodies fill the memory may try again. */
const bytesSeconds = 2;

/** What clients use of a server now. `listen` has one for its requests and its sockets together. */
export class ServerBounds {
  readonly limits: ServerLimits;
  readonly requests: Quota;
  readonly bytes: Quota;
  readonly reads: FairReads;
  readonly attaches: OwnerRates;

  constructor(
    { limits, authenticate }: { limits?: Partial<ServerLimits> | undefined; authenticate?: unknown },
    now: () => number = () => performance.now(),
  ) {
    this.limits = readServerLimits(limits, { isAuthenticated: authenticate !== undefined });
    const { requests, requestsPerOwner, bytes, bytesPerOwner, attachesPerOwner } = this.limits;
    this.requests = new Quota({ what: "requests at once", perOwner: requestsPerOwner, total: requests });
    this.bytes = new Quota({
      ...{ what: "bytes at once", perOwner: bytesPerOwner, total: bytes },
      retryAfter: bytesSeconds,
    });
    this.reads = new FairReads(this.limits);
    this.attaches = new OwnerRates("attaches", attachesPerOwner, now);
  }
}
