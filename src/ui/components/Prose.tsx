/** A text in which what stands between backticks is code. */
export const Prose = ({ text }: { readonly text: string }) =>
  text.split("`").map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))
