import type { RefusedFile } from "./attachments.ts";
import type { Language } from "./strings.ts";

/** The texts of what people do with chats: the list, edits, other replies, attachments. */
export interface ChatStrings {
  title: string;
  /** The button that opens the list, with the number of requests that wait in other chats. */
  open: (waiting: number) => string;
  close: string;
  search: string;
  waits: (count: number) => string;
  none: string;
  noMatch: string;
  searching: string;
  more: string;
  failed: string;
  untitled: string;
  actions: (title: string) => string;
  rename: string;
  renameLabel: string;
  save: string;
  cancel: string;
  download: string;
  delete: string;
  deleteQuestion: string;
  deleteText: string;
  import: string;
  importHint: string;
  importFailed: string;
  importTooLarge: string;
  edit: string;
  editLabel: string;
  editSend: string;
  editWarning: string;
  editKeepsFiles: (count: number) => string;
  again: string;
  againNow: string;
  againWarning: string;
  copy: string;
  copied: string;
  notCopied: string;
  attach: string;
  attachTitle: (files: number, total: string) => string;
  attachments: string;
  removeFile: (name: string) => string;
  dropHere: string;
  refusedFile: Record<RefusedFile["reason"], (limits: { files: number; each: string; total: string }) => string>;
  wholeOutput: (size: string) => string;
  older: string;
  olderLoading: string;
  olderFailed: string;
  toBeginning: string;
}

const en: ChatStrings = {
  title: "Chats",
  open: (waiting) => (waiting === 0 ? "Chats" : `Chats, ${en.waits(waiting)} in other chats`),
  close: "Close the list of chats",
  search: "Search titles",
  waits: (count) => (count === 1 ? "1 request waits" : `${count} requests wait`),
  none: "Chats appear here after their first message.",
  noMatch: "No title has these words.",
  searching: "Searching…",
  more: "Show older chats",
  failed: "The list of chats could not be loaded.",
  untitled: "Chat without a title",
  actions: (title) => `Actions for ${title}`,
  rename: "Rename",
  renameLabel: "Title of the chat",
  save: "Save",
  cancel: "Cancel",
  download: "Download",
  delete: "Delete",
  deleteQuestion: "Delete this chat for good?",
  deleteText: "Its messages and files are deleted and its waiting requests are withdrawn. What ran stays done.",
  import: "Import a chat…",
  importHint: "A file that was downloaded here. Requests that waited come back as withdrawn.",
  importFailed: "The file could not be imported.",
  importTooLarge: "The file is larger than 32 MiB.",
  edit: "Edit message",
  editLabel: "Your message",
  editSend: "Send edit",
  editWarning: "What follows this message is withdrawn, with requests that wait. What ran stays done.",
  editKeepsFiles: (count) => (count === 1 ? "The attached file stays." : `The ${count} attached files stay.`),
  again: "Make this reply again",
  againNow: "Make again",
  againWarning:
    "This reply and what follows it are withdrawn, with requests that wait. What ran stays done and does not run again.",
  copy: "Copy text",
  copied: "Copied.",
  notCopied: "The browser did not allow it.",
  attach: "Attach files",
  attachTitle: (files, total) =>
    `Attach pictures, PDF, text or sound: up to ${files} files, together ${total}. You can also paste or drop them.`,
  attachments: "Attached files",
  removeFile: (name) => `Remove ${name}`,
  dropHere: "Drop the files anywhere to attach them.",
  refusedFile: {
    type: () => "this type of file cannot be sent. Pictures, PDF, text and sound can.",
    size: ({ each }) => `larger than ${each}.`,
    count: ({ files }) => `a message can have ${files} files.`,
    total: ({ total }) => `all files together can have ${total}.`,
    empty: () => "the file is empty.",
    unreadable: () => "the browser could not read it.",
  },
  wholeOutput: (size) => `Show the whole output (${size})`,
  older: "Show earlier messages",
  olderLoading: "Loading earlier messages…",
  olderFailed: "Earlier messages could not be loaded. Try again",
  toBeginning: "Go to the beginning",
};

const ja: ChatStrings = {
  title: "チャット一覧",
  open: (waiting) => (waiting === 0 ? "チャット一覧" : `チャット一覧（ほかのチャットで承認待ち${waiting}件）`),
  close: "チャット一覧を閉じる",
  search: "タイトルを検索",
  waits: (count) => `承認待ち${count}件`,
  none: "最初のメッセージを送ると、ここに表示されます。",
  noMatch: "一致するタイトルはありません。",
  searching: "検索しています…",
  more: "以前のチャットを表示",
  failed: "チャット一覧を読み込めませんでした。",
  untitled: "無題のチャット",
  actions: (title) => `「${title}」の操作`,
  rename: "名前を変更",
  renameLabel: "チャットのタイトル",
  save: "保存",
  cancel: "キャンセル",
  download: "ダウンロード",
  delete: "削除",
  deleteQuestion: "このチャットを完全に削除しますか？",
  deleteText: "メッセージとファイルは削除され、承認待ちの依頼は取り下げられます。実行済みの操作は元に戻りません。",
  import: "チャットを読み込む…",
  importHint: "ここでダウンロードしたファイルを選んでください。承認待ちだった依頼は取り下げ済みになります。",
  importFailed: "ファイルを読み込めませんでした。",
  importTooLarge: "ファイルが32 MiBを超えています。",
  edit: "メッセージを編集",
  editLabel: "自分のメッセージ",
  editSend: "編集して送信",
  editWarning: "これ以降のやり取りは、承認待ちの依頼も含めて取り消されます。実行済みの操作は元に戻りません。",
  editKeepsFiles: (count) => `添付ファイル${count}個はそのまま残ります。`,
  again: "この応答を作り直す",
  againNow: "作り直す",
  againWarning:
    "この応答とそれ以降のやり取りは、承認待ちの依頼も含めて取り消されます。実行済みの操作は元に戻らず、再実行もされません。",
  copy: "テキストをコピー",
  copied: "コピーしました。",
  notCopied: "ブラウザーがコピーを許可しませんでした。",
  attach: "ファイルを添付",
  attachTitle: (files, total) =>
    `画像・PDF・テキスト・音声を添付できます（${files}個まで、合計${total}まで）。貼り付けやドラッグ＆ドロップも使えます。`,
  attachments: "添付ファイル",
  removeFile: (name) => `${name} を外す`,
  dropHere: "ここにドロップすると添付されます。",
  refusedFile: {
    type: () => "この種類のファイルは送信できません。画像・PDF・テキスト・音声を送信できます。",
    size: ({ each }) => `${each}を超えています。`,
    count: ({ files }) => `添付できるのは${files}個までです。`,
    total: ({ total }) => `添付できるのは合計${total}までです。`,
    empty: () => "ファイルが空です。",
    unreadable: () => "ブラウザーがファイルを読み取れませんでした。",
  },
  wholeOutput: (size) => `出力全体を表示（${size}）`,
  older: "以前のメッセージを表示",
  olderLoading: "以前のメッセージを読み込んでいます…",
  olderFailed: "以前のメッセージを読み込めませんでした。再試行",
  toBeginning: "最初のメッセージへ",
};

export const chatStrings: Record<Language, ChatStrings> = { en, ja };
