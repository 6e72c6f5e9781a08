import { describe, expect, it } from "vitest";
import { clientModel, type ClientInput, type ClientOutput, storeModel } from "./approval-models.ts";
import type { StoreInput, StoreOutput } from "./approval-models.ts";
import { findOrder, type Operation } from "./linearizable.ts";

type Row<Input, Output> = [called: number, returned: number, input: Input, output?: Output];
const toOperations = <Input, Output>(rows: readonly Row<Input, Output>[]): Operation<Input, Output>[] =>
  rows.map(([called, returned, input, output]) => ({ called, returned, input, output }));

const inStore = (...rows: Row<StoreInput, StoreOutput>[]) => findOrder(storeModel, toOperations(rows));
const overHttp = (...rows: Row<ClientInput, ClientOutput>[]) => findOrder(clientModel(false), toOperations(rows));
const ofReported = (...rows: Row<ClientInput, ClientOutput>[]) => findOrder(clientModel(true), toOperations(rows));

const yes: ClientInput = { do: "decide", approved: true };
const no: ClientInput = { do: "decide", approved: false };
const read: ClientInput = { do: "read" };

describe("a history of changes in the store", () => {
  it("is explained by the order in which overlapping changes took effect", () => {
    const order = inStore(
      [0, 10, "approve", { moved: false, state: "denied" }],
      [1, 9, "deny", { moved: true, state: "denied" }],
      [11, 12, "read", { moved: false, state: "denied" }],
    );
    expect(order?.map(({ input }) => input)).toEqual(["deny", "approve", "read"]);
  });

  it("is refused if two changes won", () => {
    const won = { moved: true } as const;
    expect(
      inStore([0, 10, "approve", { ...won, state: "approved" }], [1, 9, "deny", { ...won, state: "denied" }]),
    ).toBe(undefined);
    expect(
      inStore([0, 10, "claim", { ...won, state: "executing" }], [1, 9, "claim", { ...won, state: "executing" }]),
    ).toBe(undefined);
  });

  it("is refused if a later read has an older state", () => {
    const approved = { moved: true, state: "approved" } as const;
    expect(inStore([0, 5, "approve", approved], [6, 7, "read", { moved: false, state: "pending" }])).toBe(undefined);
    expect(inStore([0, 5, "approve", approved], [4, 7, "read", { moved: false, state: "pending" }])).toHaveLength(2);
  });

  it("is refused if a change that no one made took effect", () => {
    expect(inStore([0, 1, "read", { moved: false, state: "approved" }])).toBe(undefined);
  });

  it("may have a change without a response, which took effect late or never", () => {
    const pending = { moved: false, state: "pending" } as const;
    const lost: Row<StoreInput, StoreOutput> = [0, Infinity, "approve"];
    expect(inStore(lost, [1, 2, "read", pending])).toHaveLength(1);
    expect(inStore(lost, [1, 2, "read", pending], [3, 4, "read", { moved: false, state: "approved" }])).toHaveLength(3);
    expect(inStore(lost, [1, 2, "read", { moved: false, state: "denied" }])).toBe(undefined);
  });

  it("is checked quickly with many changes at once", () => {
    const rows = Array.from({ length: 40 }, (_, index): Row<StoreInput, StoreOutput> => [
      index / 100,
      10,
      index % 2 ? "approve" : "deny",
      index === 21 ? { moved: true, state: "approved" } : { moved: false, state: "approved" },
    ]);
    expect(inStore(...rows)).toHaveLength(40);
  });
});

describe("a history of decisions over HTTP", () => {
  it("may have the same decision again, also after the call has run", () => {
    expect(
      overHttp(
        [0, 1, yes, { accepted: true, state: "approved" }],
        [2, 3, read, { state: "executing" }],
        [4, 5, yes, { accepted: true, state: "succeeded" }],
        [4, 6, no, { accepted: false, state: "succeeded" }],
      ),
    ).toHaveLength(4);
  });

  it("is refused if a yes and a no were both accepted", () => {
    expect(
      overHttp([0, 10, yes, { accepted: true, state: "approved" }], [0, 10, no, { accepted: true, state: "denied" }]),
    ).toBe(undefined);
  });

  it("is refused if an acknowledged decision is lost", () => {
    expect(overHttp([0, 1, yes, { accepted: true, state: "approved" }], [2, 3, read, { state: "pending" }])).toBe(
      undefined,
    );
    expect(
      overHttp(
        [0, 1, { do: "answer", approved: true }, {}],
        [2, 3, read, { state: "pending" }],
        [4, 5, no, { accepted: true, state: "denied" }],
      ),
    ).toBe(undefined);
  });

  it("may have a question that expired or was cancelled before the answer", () => {
    expect(
      overHttp([0, 1, yes, { accepted: false, state: "expired" }], [2, 3, read, { state: "expired" }]),
    ).toHaveLength(2);
    expect(overHttp([0, 1, yes, { accepted: false, state: "pending" }])).toBe(undefined);
  });

  it("may have one resolution of a call whose outcome was not known", () => {
    const unknown: Row<ClientInput, ClientOutput>[] = [
      [0, 1, yes, { accepted: true, state: "approved" }],
      [2, 3, read, { state: "indeterminate" }],
      [4, 9, { do: "resolve", happened: true }, { accepted: true, state: "succeeded" }],
    ];
    const other: ClientInput = { do: "resolve", happened: false };
    expect(overHttp(...unknown, [5, 8, other, { accepted: false, state: "succeeded" }])).toHaveLength(4);
    expect(overHttp(...unknown, [5, 8, other, { accepted: true, state: "failed" }])).toBe(undefined);
  });

  const begun: Row<ClientInput, ClientOutput>[] = [
    [0, 1, yes, { accepted: true, state: "approved" }],
    [2, 3, read, { state: "waiting" }],
  ];
  const good: ClientInput = { do: "report", happened: true };
  const bad: ClientInput = { do: "report", happened: false };

  it("has one report that counts, which may come again", () => {
    const taken = { accepted: true, state: "failed" } as const;
    const refused = { accepted: false, state: "failed" } as const;
    expect(ofReported(...begun, [4, 9, bad, taken], [4, 9, good, refused], [5, 9, bad, taken])).toHaveLength(5);
    expect(ofReported(...begun, [4, 9, bad, taken], [5, 9, good, { accepted: true, state: "succeeded" }])).toBe(
      undefined,
    );
  });

  it("is refused if a call ended that no one reported, or whose report was acknowledged and lost", () => {
    expect(ofReported(...begun, [4, 5, read, { state: "succeeded" }])).toBe(undefined);
    expect(ofReported(...begun, [4, 5, { do: "give" }, { accepted: true }], [6, 7, read, { state: "waiting" }])).toBe(
      undefined,
    );
  });

  it("may have the result of a browser tool several times, but not before the yes", () => {
    const give: Row<ClientInput, ClientOutput> = [4, 9, { do: "give" }, { accepted: true }];
    expect(ofReported(...begun, give, give, [10, 11, read, { state: "succeeded" }])).toHaveLength(5);
    expect(ofReported([0, 1, { do: "give" }, { accepted: false }], ...begun)).toHaveLength(3);
    expect(ofReported([0, 1, { do: "give" }, { accepted: true }], [2, 3, read, { state: "pending" }])).toBe(undefined);
  });
});
