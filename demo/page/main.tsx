import "./no-eval.ts";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { showTheme, storedTheme } from "./preferences.ts";
import "adk-stream-protocol/react/styles.css";
import "./styles.css";
import "./markdown.css";
import "./panel.css";
import "./chats.css";

showTheme(storedTheme());

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
