export interface ApprovalCardProps {
  name: string;
  input: unknown;
  onAnswer: (approved: boolean) => void;
}

/** Shows a call exactly as it will run, and asks. */
export function ApprovalCard({ name, input, onAnswer }: ApprovalCardProps) {
  return (
    <section className="card" aria-label={`Approval of ${name}`}>
      <h2>{name}</h2>
      <pre>{JSON.stringify(input, null, 2)}</pre>
      <button onClick={() => onAnswer(false)}>Deny</button> <button onClick={() => onAnswer(true)}>Approve</button>
    </section>
  );
}
