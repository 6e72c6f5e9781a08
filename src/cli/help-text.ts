export const helpText: string = `Usage: adk-stream-protocol <command>

  dev <file>     a chat page for the agent in a file, with approvals; reloads the agent when the file changes
  serve <file>   the same without reloading
  init <folder>  writes a small application: agent, server, page and a test

Options of dev and serve
  --port <number>   default 3000; 0 picks a free one
  --host [address]  default 127.0.0.1; without an address, every address of this machine. dev then prints an
                    address with a secret; serve needs the export authenticate(request) in the file
  --no-open         do not open a browser
  --data <folder>   where the chats are kept; default .adk-stream-protocol/<name of the file>, beside the file
  --ask <what>      which calls wait for a person, besides those of tools with requireConfirmation:
                    toolsets  calls of tools that toolsets bring, such as MCP (default)
                    all       every call
                    declared  no others
  --help, --version

The file exports an agent as rootAgent, agent or default: the agent itself, or a function that returns one. Without
GOOGLE_API_KEY (or GEMINI_API_KEY, or the variables of Vertex AI) a scripted Gemini stands in: write "call <tool>".
A file .env beside the agent is read. docs/cli.md says more.
`;
