import { getAgent } from "../../../bridge";

async function handle(request: Request): Promise<Response> {
  const agent = await getAgent();
  return agent.handle(request);
}

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST };
