import { createContext, type ReactNode, useContext, useMemo } from "react";
import { type ApprovalLabels, type LabelChanges, labelsIn } from "./labels.ts";

/** The language of a component. */
export interface LanguageProps {
  /** A language tag: the labels are Japanese for `ja` and English otherwise, amounts and dates as in this language. */
  language?: string | undefined;
  /** Labels of the application, instead of those of the language. */
  labels?: LabelChanges | undefined;
}

interface Words {
  labels: ApprovalLabels;
  language: string;
}

const WordsContext = createContext<Words>({ labels: labelsIn("en"), language: "en" });

/** The labels and the language of the components around. */
export const useWords = (): Words => useContext(WordsContext);

/** Sets the language and the labels of all components inside. */
export function ApprovalLanguage({ language, labels, children }: LanguageProps & { children: ReactNode }) {
  const outer = useWords();
  const words = useMemo(() => {
    if (language === undefined && labels === undefined) return outer;
    const tag = language ?? outer.language;
    const base = language === undefined ? outer.labels : labelsIn(tag);
    return { language: tag, labels: labels ? labelsIn(tag, labels, base) : base };
  }, [outer, language, labels]);
  return <WordsContext.Provider value={words}>{children}</WordsContext.Provider>;
}
