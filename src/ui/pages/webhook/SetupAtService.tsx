import { presets } from "../../../domain/verification/Presets.ts"
import { recipeOf, recipes, serviceOf } from "../../../recipes/Recipes.ts"
import type { Webhook } from "../../api/Types.ts"
import { CopyButton } from "../../components/CopyButton.tsx"
import { withCode } from "../../components/WithCode.tsx"
import { LocalAddress } from "./LocalAddress.tsx"
import { SetupSteps } from "./SetupSteps.tsx"

type Verification = NonNullable<Webhook["verification"]>

/** With a new trigger URL: the generated secret, if any, and the steps at the service. */
const SetupAtService = ({
  verification,
  url,
  secret
}: {
  readonly verification: Verification
  readonly url: string
  readonly secret: string | undefined
}) => {
  const recipe = recipeOf(verification.preset)
  if (recipe === undefined && secret === undefined) return null
  return (
    <section className="card stack" aria-label="Setup">
      {secret !== undefined && (
        <div className="stack tight">
          <div className="row between">
            <h2>Secret</h2>
            <CopyButton text={secret} what="the secret" compact={false} />
          </div>
          <code className="secret">{secret}</code>
          <p className="small muted">
            In {presets[verification.preset].label}: {withCode(presets[verification.preset].secret)}. It is not shown
            again.
          </p>
        </div>
      )}
      {recipe && (
        <div className="stack tight">
          <h2>At {serviceOf(recipe)}</h2>
          {recipe !== recipes.generic && <LocalAddress service={serviceOf(recipe)} url={url} />}
          <SetupSteps recipe={recipe} url={url} secret={secret} />
        </div>
      )}
    </section>
  )
}

export default SetupAtService
