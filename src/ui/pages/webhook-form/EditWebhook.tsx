import { useMemo } from "react"
import { pathTo } from "../../../api/Pages.ts"
import { isRecipeName, recipes } from "../../../recipes/Recipes.ts"
import { useServer, useWebhook } from "../../api/Queries.ts"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { recipeDraft } from "./RecipeDraft.ts"
import { RecipePicker } from "./RecipePicker.tsx"
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
      <Loaded query={useServer()}>{(server) => <WebhookForm key={chosen} server={server} draft={draft} />}</Loaded>
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

export default EditWebhook
