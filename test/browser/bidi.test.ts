import { tellStories } from "./stories.ts";

tellStories({ mode: "bidi", major: "ai@7" });
tellStories({ mode: "bidi", major: "ai@6", core: true });
