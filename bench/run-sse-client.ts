import { Agent, type IncomingMessage, request } from "node:http";

const agent = new Agent({ keepAlive: true });
const app = { appName: "bench", userId: "bench" };

/** Creates a session on ADK's server. */
export async function newSession(url: string): Promise<string> {
  const { appName, userId } = app;
  const text = await textOf(await post(`${url}/apps/${appName}/users/${userId}/sessions`, {}));
  return (JSON.parse(text) as { id: string }).id;
}

/** Sends a message over a connection that is kept open, and reads the events of the reply to its end. */
export async function run(
  url: string,
  session: string,
  part: object,
  onEvent: (event: string) => void = () => {},
): Promise<void> {
  const newMessage = { role: "user", parts: [part] };
  const response = await post(`${url}/run_sse`, { ...app, sessionId: session, newMessage, streaming: true });
  let rest = "";
  response.setEncoding("utf8");
  for await (const piece of response) {
    const events = (rest + String(piece)).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) onEvent(event);
  }
}

/** Sends a request over a connection that is kept open. */
export function post(url: string, body: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    const outgoing = request(url, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${url} replied with ${response.statusCode}.`));
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const piece of response) text += String(piece);
  return text;
}
