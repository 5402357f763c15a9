import { type Recipe, withValues } from "../../../recipes/Recipe.ts"
import { TextWithGuides } from "../../components/Guide.tsx"
import { CodeBlock } from "../../components/Snippets.tsx"

/** The steps at the service, with the URL and the secret if they are known, and notes. */
export const SetupSteps = ({
  recipe: { config, notes, steps },
  url = "TRIGGER_URL",
  secret = "SECRET"
}: {
  readonly recipe: Recipe
  readonly url?: string
  readonly secret?: string | undefined
}) => (
  <div className="stack tight">
    <ol className="setup-steps">
      {steps.map((step) => (
        <li key={step}>
          <TextWithGuides text={step} />
        </li>
      ))}
    </ol>
    {config && <CodeBlock text={withValues(config.text, url, secret)} title={config.file} />}
    {notes.map((note) => (
      <p key={note} className="small muted">
        <TextWithGuides text={note} />
      </p>
    ))}
  </div>
)
