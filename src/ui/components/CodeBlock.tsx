import { CopyButton } from "./CopyButton.tsx"

/** Code with a button that copies it. */
export const CodeBlock = ({ text, title }: { readonly text: string; readonly title: string }) => (
  <div className="code">
    <div className="code-bar">
      <span>{title}</span>
      <CopyButton text={text} what={title} />
    </div>
    {/* A region that scrolls must be reachable with the keyboard. */}
    <pre tabIndex={0} role="region" aria-label={title}>
      {text}
    </pre>
  </div>
)
