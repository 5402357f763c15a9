import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"
import { CodeBlock } from "./CodeBlock.tsx"
import type { Snippet } from "./Snippet.ts"

export const SnippetTabs = ({
  snippets,
  label
}: {
  readonly snippets: ReadonlyArray<Snippet>
  /** What the examples are for, for screen readers. */
  readonly label: string
}) => (
  <Tabs className="tabs">
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
