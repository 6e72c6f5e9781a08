/** One person with one chat, who does what people do, and what they should not: twice, at once, and to the end. */
import { setTimeout as delay } from "node:timers/promises";
import type { ApprovalView } from "../../src/protocol/index.ts";
import type { ClientOutput } from "./approval-models.ts";
import { type Client, type Reply, type Wire, wires } from "./client.ts";
import type { History } from "./history.ts";
import { type Random, randomFrom } from "./random.ts";
import { jobsToText, kinds, resultOf } from "./settings.ts";

export interface PersonOptions {
  chat: string;
  seed: number;
  client: Client;
  history: History;
  /** How long a person is patient with one thing while things go wrong. */
  patienceMs: number;
  /** How long in the end, when nothing goes wrong any more. A busy machine needs long for the last words of all chats. */
  lastPatienceMs: number;
}

interface Listed {
  approvals: ApprovalView[];
  running: boolean;
}

export class Person {
  readonly chat: string;
  readonly #options: PersonOptions;
  #rounds = 0;
  #lastMessage: string | undefined;

  constructor(options: PersonOptions) {
    this.#options = options;
    this.chat = options.chat;
  }

  /** Says something and answers what is asked. Everything in it is decided by the seed, the chat and the round. */
  async round(): Promise<void> {
    const round = (this.#rounds += 1);
    const random = randomFrom(this.#options.seed, this.chat, round);
    const wire = random.pick(wires);
    const what = random.next();
    this.#options.history.count("rounds");
    if (what < 0.6) await this.#say(wire, this.#jobs(random, round), random);
    else if (what < 0.75) await this.#say(wire, `A story, please (${this.chat}-${round}).`, random);
    else if (what < 0.85) await this.#sayAndStop(wire, `A story, please (${this.chat}-${round}).`, random);
    else if (what < 0.93) await this.#say(wire, this.#jobs(random, round), random, this.#lastMessage);
    else await this.#again(wire);
    await this.#answer(await this.#questions(), random);
    if (random.chance(0.8)) await this.#tellEnds(random);
    if (random.chance(0.3)) await this.#resolve(random);
    if (random.chance(0.4)) await this.#quiet();
  }

  /** Says the last words, answers what is still open, and waits until nothing happens any more. False if that takes too long. */
  async finish(): Promise<boolean> {
    const random = randomFrom(this.#options.seed, this.chat, "end");
    if (!(await this.#say("SSE", "Is everything done?", random, `${this.chat}-end`))) return false;
    const until = performance.now() + this.#options.lastPatienceMs;
    while (performance.now() < until) {
      const listed = await this.#list();
      const open = listed?.approvals.filter(({ state }) => isOpen(state));
      if (listed && open?.length === 0 && !listed.running) return true;
      const pending = open?.filter(({ state }) => state === "pending") ?? [];
      await Promise.all(pending.map((approval) => this.#decide(approval, false)));
      await this.#tellEnds(random);
      await delay(200);
    }
    return false;
  }

  // ── what a person says ─────────────────────────────────────────────────────────────────────────────────────────

  #jobs(random: Random, round: number): string {
    return jobsToText(
      Array.from({ length: 1 + random.below(2) }, (_, index) => ({
        kind: random.pick(kinds),
        name: `${this.chat}-${round}-${index}`,
        // Some take so long that their node is likely to die in the middle.
        ms: random.chance(0.5) ? 1000 + random.below(3000) : random.below(400),
      })),
      random.chance(0.2),
    );
  }

  /** Sends a message until it is acknowledged, to any node. With the id of an earlier one it is an edit. */
  async #say(wire: Wire, text: string, random: Random, id = `${this.chat}-m${this.#rounds}`): Promise<boolean> {
    const { client, history, patienceMs } = this.#options;
    const message = { id, role: "user", parts: [{ type: "text", text }] };
    const body = { id: this.chat, messages: [message], trigger: "submit-message" };
    const until = performance.now() + patienceMs;
    let by = wire;
    for (let attempt = 0; performance.now() < until; attempt += 1) {
      const sent = await client.submit(by, body, attempt > 0);
      history.count(`messages over ${by === "SSE" ? by : `the ${by}`}`);
      if (sent.isRecorded) {
        this.#lastMessage = id;
        history.acknowledged.push({ chat: this.chat, id, text });
        if (!sent.isOver) history.count("replies cut off");
        return true;
      }
      history.count("messages without a response");
      await delay(100 + random.below(200));
      if (random.chance(0.5)) by = random.pick(wires);
    }
    return false;
  }

  async #sayAndStop(wire: Wire, text: string, random: Random): Promise<void> {
    const saying = this.#say(wire, text, random);
    await delay(random.below(500));
    await this.#options.client.request("POST", `/stream/${this.chat}/stop`);
    await saying;
  }

  async #again(wire: Wire): Promise<void> {
    const { client, history } = this.#options;
    if (this.#lastMessage === undefined) return;
    const messages = [{ id: this.#lastMessage, role: "user", parts: [{ type: "text", text: "" }] }];
    await client.submit(wire, { id: this.chat, messages, trigger: "regenerate-message", messageId: this.#lastMessage });
    history.count("replies made again");
  }

  // ── what a person answers ──────────────────────────────────────────────────────────────────────────────────────

  /** The questions that are open, as soon as there are some. */
  async #questions(): Promise<ApprovalView[]> {
    const until = performance.now() + this.#options.patienceMs / 4;
    while (performance.now() < until) {
      const listed = await this.#list();
      const pending = listed?.approvals.filter(({ state }) => state === "pending") ?? [];
      if (pending.length > 0 || (listed && !listed.running)) return pending;
      await delay(100);
    }
    return [];
  }

  async #answer(questions: readonly ApprovalView[], random: Random): Promise<void> {
    await Promise.all(
      questions.map(async (question) => {
        const manner = random.next();
        const approved = random.chance(0.7);
        // Unanswered: new text cancels it, or its time ends.
        if (manner < 0.1) return;
        if (manner < 0.4) return this.#decide(question, approved);
        const isDisputed = manner > 0.7;
        const answers = Array.from({ length: 2 + random.below(4) }, (_, index) => ({
          approved: isDisputed && index % 2 === 1 ? !approved : approved,
          inChat: random.chance(0.3),
          wire: random.pick(wires),
          ms: random.below(30),
        }));
        await Promise.all(
          answers.map(async (answer) => {
            await delay(answer.ms);
            if (answer.inChat) await this.#answerInChat(answer.wire, question, answer.approved);
            else await this.#decide(question, answer.approved);
          }),
        );
      }),
    );
  }

  /** Decides with `POST /approvals/:id`. What the first attempt did is not known if it has no response; then there is another. */
  async #decide({ id }: ApprovalView, approved: boolean): Promise<void> {
    const { client, history } = this.#options;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      history.count("decisions sent");
      const output = await history.perform(id, { do: "decide", approved }, async () =>
        this.#toOutput(await client.request("POST", `/approvals/${id}`, { approved })),
      );
      if (output) return;
      history.count("decisions without a response");
      await delay(150);
    }
  }

  async #answerInChat(wire: Wire, question: ApprovalView, approved: boolean): Promise<void> {
    const { id, toolCallId, toolName, messageId, input } = question;
    const { client, history } = this.#options;
    const part = {
      type: `tool-${toolName}`,
      toolCallId,
      input,
      state: "approval-responded",
      approval: { id, approved },
    };
    const messages = [{ id: messageId, role: "assistant", parts: [part] }];
    history.count("answers in the chat sent");
    await history.perform(id, { do: "answer", approved }, async () => {
      const sent = await client.submit(wire, { id: this.chat, messages, trigger: "submit-message", messageId });
      return sent.isRecorded ? {} : undefined;
    });
  }

  /** Says what became of the calls that only this person can know of: some several times, and not always the same. */
  async #tellEnds(random: Random): Promise<void> {
    const listed = await this.#list();
    const begun = listed?.approvals.filter(
      ({ toolName, state }) =>
        (toolName === "reported" && (state === "executing" || state === "waiting")) ||
        (toolName === "page" && state === "waiting"),
    );
    await Promise.all(
      (begun ?? []).map(async (call) => {
        const happened = random.chance(0.8);
        const isDisputed = random.chance(0.3);
        const times = Array.from({ length: 1 + random.below(4) }, () => random.below(30));
        await Promise.all(
          times.map(async (ms, index) => {
            await delay(ms);
            if (call.toolName === "page") await this.#give(call);
            else await this.#report(call, isDisputed && index % 2 === 1 ? !happened : happened);
          }),
        );
      }),
    );
  }

  async #report({ id, input }: ApprovalView, happened: boolean): Promise<void> {
    const { client, history } = this.#options;
    const result = resultOf((input as { name: string }).name);
    const body = happened ? { result: { done: result } } : { error: result };
    history.reported.add(id);
    history.count("reports sent");
    await history.perform(id, { do: "report", happened }, async () =>
      this.#toOutput(await client.request("POST", `/calls/${id}`, body)),
    );
  }

  /** Sends what the browser tool returned, as a page does. */
  async #give({ id, toolCallId, input }: ApprovalView): Promise<void> {
    const { client, history } = this.#options;
    const result = { done: resultOf((input as { name: string }).name) };
    history.reported.add(id);
    history.count("results from pages sent");
    await history.perform(id, { do: "give" }, async () => {
      const reply = await client.request("POST", `/stream/${this.chat}/results`, { toolCallId, result });
      if (reply?.status === 200 || reply?.status === 409) return { accepted: reply.status === 200 };
      this.#noteWrong(reply);
      return undefined;
    });
  }

  /** Says what became of calls whose outcome is not known. */
  async #resolve(random: Random): Promise<void> {
    const { client, history } = this.#options;
    const listed = await this.#list();
    for (const { id } of listed?.approvals.filter(({ state }) => state === "indeterminate") ?? []) {
      const happened = random.chance(0.5);
      history.count("resolutions sent");
      await history.perform(id, { do: "resolve", happened }, async () =>
        this.#toOutput(await client.request("POST", `/approvals/${id}/resolution`, { happened })),
      );
    }
  }

  #toOutput(reply: Reply | undefined): ClientOutput | undefined {
    if (reply?.status === 200 || reply?.status === 409) {
      const { state } = JSON.parse(reply.body) as Pick<ApprovalView, "state">;
      return { accepted: reply.status === 200, state };
    }
    this.#noteWrong(reply);
    return undefined;
  }

  #noteWrong(reply: Reply | undefined): void {
    if (reply && reply.status !== 503) this.#options.history.wrong.push(`${this.chat}: ${reply.status} ${reply.body}`);
  }

  // ── what a person sees ─────────────────────────────────────────────────────────────────────────────────────────

  async #list(): Promise<Listed | undefined> {
    const { client, history } = this.#options;
    const called = performance.now();
    const reply = await client.request("GET", `/approvals?chat=${this.chat}`);
    if (reply?.status !== 200) return undefined;
    const listed = JSON.parse(reply.body) as Listed;
    for (const { id, state } of listed.approvals) history.noteRead(id, state, called);
    return listed;
  }

  async #quiet(): Promise<void> {
    const until = performance.now() + this.#options.patienceMs / 4;
    while (performance.now() < until) {
      const listed = await this.#list();
      if (
        listed &&
        !listed.running &&
        !listed.approvals.some(({ state }) => state === "approved" || state === "executing")
      )
        return;
      await delay(150);
    }
  }
}

function isOpen(state: ApprovalView["state"]): boolean {
  return state === "pending" || state === "approved" || state === "executing" || state === "waiting";
}
