/** The WebSocket close code of `unauthenticated`. A client has to tell a user who is signed out from a frame that is at fault. */
export const signedOutCode = 4401;
