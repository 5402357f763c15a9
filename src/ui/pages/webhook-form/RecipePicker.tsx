import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { SecretOrigin } from "../../../recipes/Recipe.ts"
import { type RecipeName, recipeNames, recipes } from "../../../recipes/Recipes.ts"

const secretHints: Readonly<Record<SecretOrigin, string>> = {
  "made here": "A secret has been generated. You get it with the trigger URL after you create the webhook.",
  "known before": "Enter the secret from the service.",
  "shown after":
    "The service shows its secret after you enter the trigger URL there. Until you enter that secret here, all requests are rejected."
}

/** Recipes for the form. Each has its own address and resets the form. */
export const RecipePicker = ({ chosen }: { readonly chosen: RecipeName | undefined }) => {
  const link = (name: RecipeName | undefined, label: string) => (
    <li key={label}>
      <Link
        className="button compact"
        to={name === undefined ? pathTo("newWebhook") : `${pathTo("newWebhook")}?from=${name}`}
        aria-current={name === chosen ? "true" : undefined}
      >
        {label}
      </Link>
    </li>
  )
  const recipe = chosen && recipes[chosen]
  return (
    <nav className="card stack tight" aria-label="Start from">
      <h2>Start from…</h2>
      <ul className="recipes">
        {link(undefined, "Blank")}
        {recipeNames.map((name) => link(name, recipes[name].label))}
      </ul>
      {recipe ? (
        <p className="small">
          {recipe.summary} The form is filled in and has a sample request. Choose a team and edit as needed.{" "}
          {secretHints[recipe.secret]}
        </p>
      ) : (
        <p className="small muted">Choose the service that will call the webhook to fill in the form.</p>
      )}
    </nav>
  )
}
