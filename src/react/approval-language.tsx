import { createContext, type ReactNode, useContext, useMemo } from "react";
import { en } from "./labels-en.ts";
import { type ApprovalLabels, changeLabels, type LabelChanges } from "./labels.ts";

/** The language of a component. */
export interface LanguageProps {
  /** A language tag, for the texts of the policy and for amounts and dates. */
  language?: string | undefined;
  /** Other labels: `ja` of `adk-stream-protocol/react/ja`, or some of the application's own. Without them, English ones. */
  labels?: LabelChanges | undefined;
}

interface Words {
  labels: ApprovalLabels;
  language: string;
}

const WordsContext = createContext<Words>({ labels: en, language: "en" });

/** The labels and the language of the components around. */
export const useWords = (): Words => useContext(WordsContext);

/** Sets the language and the labels of all components inside. */
export function ApprovalLanguage({ language, labels, children }: LanguageProps & { children: ReactNode }) {
  const outer = useWords();
  const words = useMemo(
    () => ({ language: language ?? outer.language, labels: changeLabels(labels, outer.labels) }),
    [outer, language, labels],
  );
  return <WordsContext.Provider value={words}>{children}</WordsContext.Provider>;
}
