import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true });

/** Sends a request over a connection that is kept open, and reads the whole response. Rejects unless its status is 2xx. */
export function send(method: "DELETE" | "GET" | "POST", url: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const outgoing = request(url, { method, agent, ...(body && { headers }) }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (text += piece));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve(text);
        else reject(new Error(`${method} ${url} was refused with ${statusCode}: ${text.slice(0, 200)}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body && JSON.stringify(body));
  });
}

/** Says something in a chat over HTTP, and returns the whole reply. */
export function say(url: string, chat: string, text: string): Promise<string> {
  return send("POST", `${url}/stream`, { id: chat, messages: [{ role: "user", parts: [{ type: "text", text }] }] });
}

/** The ids of the approvals that a reply asks for. */
export function questionsIn(reply: string): string[] {
  return [...reply.matchAll(/"type":"tool-approval-request","approvalId":"([^"]+)"/g)].map(([, id = ""]) => id);
}
