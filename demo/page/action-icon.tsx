const paths = {
  edit: "M3 13l.7-3L10.5 3.2a1.4 1.4 0 0 1 2 0l.3.3a1.4 1.4 0 0 1 0 2L6 12.3z",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  again: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  done: "M3.5 8.5l3 3 6-7",
  attach: "M13 7.5 8 12.4a3.2 3.2 0 0 1-4.5-4.5l5.3-5.2a2.1 2.1 0 0 1 3 3l-5.2 5.1a1 1 0 0 1-1.5-1.4l4.5-4.4",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
};

export function ActionIcon({ name }: { name: keyof typeof paths }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden="true">
      <path d={paths[name]} strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
