import "./no-eval.ts";
import "adk-stream-protocol/react/styles.css";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat.tsx";
import "./style.css";

// The chat's id is kept, so a reload continues the chat.
const id = localStorage.getItem("chat") ?? crypto.randomUUID();
localStorage.setItem("chat", id);

const root = document.getElementById("root");
if (root) createRoot(root).render(<Chat id={id} />);
