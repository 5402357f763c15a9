import { useMemo } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { SecretOrigin } from "../../../recipes/Recipe.ts"
import { isRecipeName, type RecipeName, recipeNames, recipes, serviceOf } from "../../../recipes/Recipes.ts"
import { useServer, useWebhook } from "../../api/Queries.ts"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { ServiceMark } from "../../components/ServiceMark.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { LocalAddress } from "../webhook/LocalAddress.tsx"
import { recipeDraft } from "./RecipeDraft.ts"
import { WebhookForm } from "./WebhookForm.tsx"

/** Creates a webhook or, with an id, edits it. */
const EditWebhook = ({ id }: { readonly id?: string }) => (id === undefined ? <New /> : <Existing id={id} />)

/** The recipe is in the address. */
const New = () => {
  const from = useUrlFilters().get("from")
  const chosen = isRecipeName(from) ? from : undefined
  const draft = useMemo(() => chosen && recipeDraft(recipes[chosen]), [chosen])
  return (
    <Page title="New webhook" back={{ to: pathTo("webhooks"), text: "Webhooks" }}>
      <RecipePicker chosen={chosen} />
      <Loaded query={useServer()}>
        {(server) => (
          <>
            {draft && draft.recipe !== recipes.generic && (
              <LocalAddress service={serviceOf(draft.recipe)} url={server.public_url} />
            )}
            <WebhookForm key={chosen} server={server} draft={draft} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const Existing = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const server = useServer()
  const name = webhook.data?.name ?? "Webhook"
  return (
    <Page title="Edit webhook" back={{ to: pathTo("webhook", { id }), text: name }}>
      <Loaded query={server}>
        {(serverData) => (
          <Loaded query={webhook} keep>
            {(data) => <WebhookForm server={serverData} webhook={data} />}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

const secretHints: Readonly<Record<SecretOrigin, string>> = {
  "made here": "A secret has been generated. You get it with the trigger URL after you create the webhook.",
  "known before": "Enter the secret from the service.",
  "shown after":
    "The service shows its secret after you enter the trigger URL there. Until you enter that secret here, all requests are rejected."
}

/** Recipes for the form. Each has its own address and resets the form. */
const RecipePicker = ({ chosen }: { readonly chosen: RecipeName | undefined }) => {
  const link = (name: RecipeName | undefined, label: string) => (
    <li key={label}>
      <Link
        className="button compact"
        to={name === undefined ? pathTo("newWebhook") : `${pathTo("newWebhook")}?from=${name}`}
        aria-current={name === chosen ? "true" : undefined}
      >
        {name !== undefined && <ServiceMark preset={recipes[name].verification.preset} />}
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
          {recipe.summary} {secretHints[recipe.secret]}
        </p>
      ) : (
        <p className="small muted">Choose the service that will call the webhook to fill in the form.</p>
      )}
    </nav>
  )
}

export default EditWebhook
