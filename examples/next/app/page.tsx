import { redirect } from "next/navigation";
import { Chat } from "./chat.tsx";

/** The chat's id is in the address, so a reload continues the chat. */
export default async function Page({ searchParams }: { searchParams: Promise<{ chat?: string | string[] }> }) {
  const { chat } = await searchParams;
  if (typeof chat !== "string") redirect(`/?chat=${crypto.randomUUID()}`);
  return <Chat id={chat} />;
}
