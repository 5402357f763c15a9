import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { SecretOrigin } from "../../../recipes/Recipe.ts"
import { type RecipeName, recipeNames, recipes } from "../../../recipes/Recipes.ts"

/** Where the webhook's secret comes from. */
const secretHints: Readonly<Record<SecretOrigin, string>> = {
  "made here": "A secret has been made for it: you get it with the trigger URL, once the webhook is created.",
  "known before": "It asks for the secret that the service has already.",
  "shown after":
    "The service shows its secret only once it knows the trigger URL. Until then a random one is set here, under which nothing is accepted."
}

/** The services for which the form can be filled in. Each is an address, and the form starts anew with it. */
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
    <nav className="card stack tight" aria-label="New webhook from">
      <h2>New webhook from…</h2>
      <ul className="recipes">
        {link(undefined, "Nothing")}
        {recipeNames.map((name) => link(name, recipes[name].label))}
      </ul>
      {recipe ? (
        <p className="small">
          {recipe.summary} The form has what it needs, and a request to try it on: choose a team, and edit what you
          like. {secretHints[recipe.secret]}
        </p>
      ) : (
        <p className="small muted">Choose the service that will call it, and the form is filled in.</p>
      )}
    </nav>
  )
}
