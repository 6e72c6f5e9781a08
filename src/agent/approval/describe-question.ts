import { type ApprovalCard, type LocalText, textIn } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";

/** A question in the fields that AI SDK has for it: `approvalDescriptor`, and from AI SDK 7 on `reason`. */
export interface QuestionTexts {
  descriptor?: ApprovalCard;
  /** One text, in the default language of the policy. */
  reason?: string;
}

/** What is said about a question. The hint of the policy takes precedence over the hint of the tool. */
export function describeQuestion({ card, hint }: Pick<Approval, "card" | "hint">): QuestionTexts {
  const said = card?.hint ?? hint;
  const descriptor: ApprovalCard = { ...card, ...(said !== undefined && { hint: said }) };
  const reason: LocalText | undefined = card && isOfPolicy(card) ? (said ?? card.title) : undefined;
  return {
    ...(Object.keys(descriptor).length > 0 && { descriptor }),
    ...(reason !== undefined && { reason: textIn(reason) }),
  };
}

/** A card without a policy has nothing but the order of the arguments. */
function isOfPolicy({ fields = {}, ...texts }: ApprovalCard): boolean {
  return [texts, ...Object.values(fields)].some((said) => Object.keys(said).length > 0);
}
