import { redirect } from "next/navigation";
import { connection } from "next/server";
import { Suspense } from "react";
import { Chat } from "./chat";

type Address = Promise<{ chat?: string | string[] }>;

/** With `cacheComponents`, what reads the address must be in a `Suspense`. */
export default function Page({ searchParams }: { searchParams: Address }) {
  return (
    <Suspense>
      <ChatOfAddress searchParams={searchParams} />
    </Suspense>
  );
}

/** The chat's id is in the address, so a reload continues the chat. */
async function ChatOfAddress({ searchParams }: { searchParams: Address }) {
  const { chat } = await searchParams;
  if (typeof chat === "string") return <Chat id={chat} />;
  await connection(); // a new id for each request
  redirect(`/?chat=${crypto.randomUUID()}`);
}
