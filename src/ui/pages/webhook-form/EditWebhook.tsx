import { useQuery } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { Recipe, SecretOrigin } from "../../../recipes/Recipe.ts"
import { isRecipeName, type RecipeName, recipeNames, recipes, serviceOf } from "../../../recipes/Recipes.ts"
import { storedRequestQuery, useServer, useWebhook } from "../../api/Queries.ts"
import type { ReceivedRequest, Server, Webhook } from "../../api/Types.ts"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { ServiceMark } from "../../components/ServiceMark.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { LocalAddress } from "../webhook/LocalAddress.tsx"
import { Listen } from "./Listen.tsx"
import { recipeDraft } from "./RecipeDraft.ts"
import { requestDraft } from "./RequestDraft.ts"
import { WebhookForm } from "./WebhookForm.tsx"

/** Creates a webhook or, with an id, edits it. */
const EditWebhook = ({ id }: { readonly id?: string }) => (id === undefined ? <New /> : <Existing id={id} />)

/** In place of a recipe: the first request says which one. */
const listen = "request"

/** The recipe is in the address. */
const New = () => {
  const from = useUrlFilters().get("from")
  const server = useServer()
  const chosen = isRecipeName(from) ? from : undefined
  const draft = useMemo(() => chosen && recipeDraft(recipes[chosen]), [chosen])
  return (
    <Page title="New webhook" back={{ to: pathTo("webhooks"), text: "Webhooks" }}>
      <RecipePicker chosen={from === listen ? listen : chosen} path={pathTo("newWebhook")} />
      {from === listen ? (
        <Listen />
      ) : (
        <Loaded query={server}>
          {(data) => (
            <>
              {draft && draft.recipe !== recipes.generic && (
                <LocalAddress service={serviceOf(draft.recipe)} url={data.public_url} />
              )}
              <WebhookForm key={chosen} server={data} draft={draft} />
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}

/** With a request in the address, the form is filled in from that. */
const Existing = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const server = useServer()
  const request_id = useUrlFilters().get("request")
  const name = webhook.data?.name ?? "Webhook"
  return (
    <Page title="Edit webhook" back={{ to: pathTo("webhook", { id }), text: name }}>
      <Loaded query={server}>
        {(serverData) => (
          <Loaded query={webhook} keep>
            {(data) =>
              request_id === "" ? (
                <WebhookForm server={serverData} webhook={data} />
              ) : (
                <FromRequest server={serverData} webhook={data} request_id={request_id} />
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

const FromRequest = ({
  server,
  webhook,
  request_id
}: {
  readonly server: Server
  readonly webhook: Webhook
  readonly request_id: string
}) => {
  const from = useUrlFilters().get("from")
  const chosen = isRecipeName(from) ? from : undefined
  const recipe = chosen && recipes[chosen]
  return (
    <>
      <RecipePicker chosen={chosen} path={`${pathTo("editWebhook", webhook)}?request=${request_id}`} />
      <Loaded query={useQuery(storedRequestQuery(webhook.id, request_id))}>
        {(request) => <FilledForm key={chosen} server={server} webhook={webhook} request={request} recipe={recipe} />}
      </Loaded>
    </>
  )
}

const FilledForm = ({
  request,
  recipe,
  ...form
}: {
  readonly server: Server
  readonly webhook: Webhook
  readonly request: ReceivedRequest
  readonly recipe: Recipe | undefined
}) => {
  const [draft] = useState(() => requestDraft(form.webhook, request, recipe))
  return <WebhookForm {...form} draft={draft} />
}

const secretHints: Readonly<Record<SecretOrigin, string>> = {
  "made here": "A secret has been generated. You get it, to enter at the service, after you save.",
  "known before": "Enter the secret from the service.",
  "shown after":
    "The service shows its secret after you enter the trigger URL there. Until you enter that secret here, all requests are rejected."
}

/** Recipes for the form at the path. Each has its own address and resets the form. */
const RecipePicker = ({
  chosen,
  path
}: {
  readonly chosen: RecipeName | typeof listen | undefined
  readonly path: string
}) => {
  const link = (name: typeof chosen, label: string) => (
    <li key={label}>
      <Link
        className="button compact"
        to={name === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}from=${name}`}
        aria-current={name === chosen ? "true" : undefined}
      >
        {name !== undefined && name !== listen && <ServiceMark preset={recipes[name].verification.preset} />}
        {label}
      </Link>
    </li>
  )
  const recipe = chosen && chosen !== listen && recipes[chosen]
  const isNew = path === pathTo("newWebhook")
  return (
    <nav className="card stack tight" aria-label="Start from">
      <h2>Start from…</h2>
      <ul className="recipes">
        {link(undefined, "Blank")}
        {isNew && link(listen, "A request that comes")}
        {recipeNames.map((name) => link(name, recipes[name].label))}
      </ul>
      {recipe ? (
        <p className="small">
          {recipe.summary} {secretHints[recipe.secret]}
        </p>
      ) : (
        <p className="small muted">
          Choose the service that {isNew ? "will call" : "calls"} the webhook to fill in the form.
        </p>
      )}
    </nav>
  )
}

export default EditWebhook
