import type { Recipe } from "../../recipes/Recipe.ts"
import { CodeBlock } from "./CodeBlock.tsx"

/** What is set at the service, and what is good to know of it. */
export const SetupSteps = ({ recipe: { config, notes, steps } }: { readonly recipe: Recipe }) => (
  <div className="stack tight">
    <ol className="setup-steps">
      {steps.map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
    {config && <CodeBlock text={config.text} title={config.file} />}
    {notes.map((note) => (
      <p key={note} className="small muted">
        {note}
      </p>
    ))}
  </div>
)
