import type { Errand } from "./read-errand.ts";
import { toWords, type Language } from "./words.ts";

type Values = Readonly<Record<string, unknown>>;

/** What the demo's model says about a call of a sample tool. */
interface ErrandWords {
  /** Before the call. */
  readonly announce: string;
  /** The call in a sentence: “… failed”, “you did not approve …”. */
  readonly name: (args: Values) => string;
  /** The result. */
  readonly done: (args: Values, result: Values) => string;
}

type Words = Readonly<Record<Errand["tool"], ErrandWords>>;

const first = (value: unknown) => toWords(Array.isArray(value) ? value[0] : value);

const en: Words = {
  send_email: {
    announce: "I'll draft the email. Nothing is sent before you have read and approved it.",
    name: ({ to }) => `the email to ${first(to)}`,
    done: ({ to, subject }) => `The email **${toWords(subject)}** to ${first(to)} is on its way.`,
  },
  run_command: {
    announce: "I'll prepare the command. It runs only if you approve it.",
    name: ({ command }) => `the command \`${toWords(command)}\``,
    done: (_, { exit_code, stdout }) =>
      `It ended with code ${toWords(exit_code)}:\n\n\`\`\`\n${toWords(stdout)}\n\`\`\``,
  },
  update_settings: {
    announce: "I'll prepare the change. Look at the nested settings before you approve it.",
    name: ({ service }) => `the change of ${toWords(service)}`,
    done: ({ service }, result) =>
      settingsTable(`The settings of ${toWords(service)} are changed:`, result, ["Setting", "Value"]),
  },
  export_report: {
    announce: "I'll prepare the export. It needs your approval and then takes a few seconds.",
    name: ({ report, month }) => `the export of the ${toWords(report)} report for ${toWords(month)}`,
    done: (_, { file, rows }) => `The export is ready: \`${toWords(file)}\` with ${toWords(rows)} rows.`,
  },
  charge_card: {
    announce: "I'll prepare the charge. It needs your approval.",
    name: ({ amount }) => `the charge of $${toWords(amount)}`,
    done: ({ amount }) => `The card is charged with $${toWords(amount)}.`,
  },
  book_seat: {
    announce: "The seat is held for ten seconds. Approve it before it is free again.",
    name: ({ seat }) => `the booking of seat ${toWords(seat)}`,
    done: ({ seat }) => `Seat ${toWords(seat)} is yours.`,
  },
};

const ja: Words = {
  send_email: {
    announce: "メールを下書きします。内容を確認して承認されるまで送信しません。",
    name: ({ to }) => `${first(to)} へのメール`,
    done: ({ to, subject }) => `${first(to)} に「${toWords(subject)}」を送信しました。`,
  },
  run_command: {
    announce: "コマンドを準備します。承認された場合だけ実行します。",
    name: ({ command }) => `コマンド \`${toWords(command)}\` の実行`,
    done: (_, { exit_code, stdout }) =>
      `終了コードは ${toWords(exit_code)} です。\n\n\`\`\`\n${toWords(stdout)}\n\`\`\``,
  },
  update_settings: {
    announce: "変更を準備します。承認の前に、設定の中身をご確認ください。",
    name: ({ service }) => `${toWords(service)}の設定変更`,
    done: ({ service }, result) => settingsTable(`${toWords(service)}の設定を変更しました。`, result, ["項目", "値"]),
  },
  export_report: {
    announce: "書き出しを準備します。承認が必要です。承認後、数秒かかります。",
    name: ({ report, month }) => `${toWords(month)}の${toWords(report)}レポートの書き出し`,
    done: (_, { file, rows }) => `書き出しが完了しました：\`${toWords(file)}\`（${toWords(rows)}行）。`,
  },
  charge_card: {
    announce: "請求を準備します。承認が必要です。",
    name: ({ amount }) => `${toWords(amount)}ドルの請求`,
    done: ({ amount }) => `カードに${toWords(amount)}ドルを請求しました。`,
  },
  book_seat: {
    announce: "座席は10秒間だけ確保されます。期限内に承認してください。",
    name: ({ seat }) => `座席${toWords(seat)}の予約`,
    done: ({ seat }) => `座席${toWords(seat)}を予約しました。`,
  },
};

/** The words for a tool, if it is one of the sample tools. */
export function errandWords(tool: string, language: Language): ErrandWords | undefined {
  const words = language === "ja" ? ja : en;
  return Object.hasOwn(words, tool) ? words[tool as Errand["tool"]] : undefined;
}

/** A table in Markdown. A bar in a value would begin another cell. */
function settingsTable(sentence: string, result: Values, head: [string, string]): string {
  const applied = Object(result["applied"] ?? {}) as Values;
  const rows = Object.entries(applied).map(([name, value]) => {
    const cell = toWords(value).replaceAll("|", "\\|").replaceAll("`", "'");
    return `| ${name.replaceAll("|", "\\|")} | \`${cell}\` |`;
  });
  return [sentence, "", `| ${head.join(" | ")} |`, "|---|---|", ...rows].join("\n");
}
