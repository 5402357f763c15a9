/** The initial values of the form, if they are not the webhook's. */
import { type Recipe, randomSecret } from "../../../recipes/Recipe.ts"
import { jsonInput, requestInputs, type VariableInput } from "../../components/form/VariableInput.ts"
import { textsOf, type WebhookTexts } from "./WebhookFields.ts"

export interface FormDraft {
  readonly recipe?: Recipe
  readonly texts: WebhookTexts
  /** A request for the preview. */
  readonly samples: ReadonlyArray<VariableInput>
  /** A generated secret, to be entered at the service. */
  readonly secretForService?: string
}

export const recipeDraft = (recipe: Recipe): FormDraft & { readonly recipe: Recipe } => {
  const { name, prompt_template, sample, settings, verification } = recipe
  const secret = recipe.secret === "known before" ? "" : randomSecret(recipe)
  return {
    recipe,
    texts: { ...textsOf({ name, prompt_template, verification, ...settings }), secret },
    samples: requestInputs([jsonInput("payload", sample.payload), jsonInput("headers", sample.headers)]),
    ...(recipe.secret === "made here" && { secretForService: secret })
  }
}
