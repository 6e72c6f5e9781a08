import { memoryStore } from "../../src/stores/memory.ts";
import { storeContract } from "./store.ts";

storeContract("the memory store", ({ now }) => ({ store: memoryStore({ now }) }));
