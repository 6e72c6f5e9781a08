import { describeConversation, describeUnaskedSpeech } from "./conversation.ts";

describeConversation("by request", "request");
describeConversation("by live connection", "live");
describeUnaskedSpeech();
