import "./no-eval.ts";
import "adk-stream-protocol/react/styles.css";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat.tsx";
import "./style.css";

/** One chat. Its id is kept, so a reload continues the chat. */
function App() {
  const [id, setId] = useState(() => localStorage.getItem("chat") ?? crypto.randomUUID());
  useEffect(() => localStorage.setItem("chat", id), [id]);
  return (
    <>
      <header>
        <h1>Cashier</h1>
        <button onClick={() => setId(crypto.randomUUID())}>New chat</button>
      </header>
      <Chat key={id} id={id} />
    </>
  );
}

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
