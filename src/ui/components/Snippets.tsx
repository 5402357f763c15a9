import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"
import { CopyButton } from "./CopyButton.tsx"
import type { Snippet } from "./Snippet.ts"

export const SnippetTabs = ({
  snippets,
  label
}: {
  readonly snippets: ReadonlyArray<Snippet>
  /** The purpose of the examples, for screen readers. */
  readonly label: string
}) => (
  // Without a selection, the first panel comes after what is below has been drawn.
  <Tabs className="tabs" defaultSelectedKey={snippets[0]!.id}>
    <TabList aria-label={label} className="tab-list">
      {snippets.map(({ id, title }) => (
        <Tab key={id} id={id} className="tab">
          {title}
        </Tab>
      ))}
    </TabList>
    {snippets.map(({ id, title, hint, text }) => (
      <TabPanel key={id} id={id} className="stack tight">
        {hint && <p className="muted small">{hint}</p>}
        <CodeBlock text={text} title={title} />
      </TabPanel>
    ))}
  </Tabs>
)

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
