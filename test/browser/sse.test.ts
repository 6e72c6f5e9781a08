import { tellStories } from "./stories.ts";

tellStories({ mode: "sse", major: "ai@6" });
tellStories({ mode: "sse", major: "ai@7", core: true });
