/** What the scripted model says, in the language of the user. */
export interface ScriptWords {
  hello(what: { tools: readonly string[]; agents: readonly string[] }): string;
  returned(tool: string, result: string): string;
  noted(note: string): string;
}

const maxNames = 12;

const en: ScriptWords = {
  hello: ({ tools, agents }) =>
    [
      "Hello! I am a scripted Gemini. There is no API key, so I follow a script instead of thinking.",
      tools.length === 0
        ? "I have no tools here."
        : `Say “call ${tools[0]}” and I call it with made-up arguments. The tools are ${names(tools)}.`,
      ...(agents.length === 0 ? [] : [`Say “transfer to ${agents[0]}” for another agent: ${names(agents)}.`]),
    ].join(" "),
  returned: (tool, result) => `${tool} returned ${result}.`,
  noted: (note) => `I was told: ${note}`,
};

const ja: ScriptWords = {
  hello: ({ tools, agents }) =>
    [
      "こんにちは！台本どおりに話す Gemini です。API キーがないため、考えずに台本に従います。",
      tools.length === 0
        ? "ここで使えるツールはありません。"
        : `「${tools[0]} を呼んで」と書くと、仮の引数で呼び出します。ツール: ${names(tools)}。`,
      ...(agents.length === 0 ? [] : [`ほかのエージェント: ${names(agents)}（「${agents[0]} に替わって」）。`]),
    ].join(""),
  returned: (tool, result) => `${tool} の結果は ${result} です。`,
  noted: (note) => `お知らせがありました: ${note}`,
};

export function scriptWords(said: string): ScriptWords {
  return /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(said) ? ja : en;
}

function names(all: readonly string[]): string {
  const shown = all.slice(0, maxNames).join(", ");
  return all.length > maxNames ? `${shown}, …` : shown;
}
