import { inlineMarks } from "./inline-marks.ts";

/** The assistant's text, as text nodes only and with its line breaks. */
export function RichText({ text }: { text: string }) {
  return (
    <p className="text outside">
      {inlineMarks(text).map((piece, index) => {
        if (piece.kind === "strong") return <strong key={index}>{piece.text}</strong>;
        if (piece.kind === "code") return <code key={index}>{piece.text}</code>;
        return <span key={index}>{piece.text}</span>;
      })}
    </p>
  );
}
