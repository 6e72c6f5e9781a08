/**
 * The browser's WebSocket at `/live`: one connection for messages, answers, interruption, and every chunk of a chat.
 *
 *     attach-websocket.ts    takes handshakes on a `node:http` server, and looks after the open sockets
 *     handshake.ts           what a handshake asks for, and whether it is allowed
 *     socket-connection.ts   one socket: limits, heartbeat, one frame at a time
 *     wire.ts                how frames are understood and replies written; the first frame chooses one of two:
 *       chat-wire.ts           follows one chat and sends its turns as server-sent events in text frames
 *       ai-sdk-wire.ts         replies to each request of AI SDK 7's own transport separately
 *
 * One message on the chat wire, from the socket to the bridge and back:
 *
 *     SocketConnection   parses the text to a frame and gives it to the wire
 *     ChatWire           interprets the frame (`../interpret.ts`)
 *     SentMessages       recognises a message that is sent again
 *     WireContext        submits it to the bridge, which runs a turn and writes its chunks to the log
 *     ChatFollower       reads the log; the turn comes out here, like the turns of other clients
 *     TurnView           shows each entry as this client asked for it (`../views/`)
 *     TurnJoiner         leaves out the end and the beginning where a reply pauses and continues
 *     ChatFrameWriter    makes text frames
 *     SocketWriter       sends them at the pace of the client
 *
 * A wire reads the log and hands submissions to the bridge. It holds no state of a chat: a socket may close at any
 * moment, and no turn stops because of it.
 */
export { attachWebSocket, type WebSocketEndpoint } from "./attach-websocket.ts";
