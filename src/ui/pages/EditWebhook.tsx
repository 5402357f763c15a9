import { pathTo } from "../../api/Pages.ts"
import { useServer, useWebhook } from "../api/Queries.ts"
import { Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { showDirectionMarks } from "../components/UserText.tsx"
import { WebhookForm } from "./WebhookForm.tsx"

/** Creates a webhook or, given its id, edits it. */
const EditWebhook = ({ id }: { readonly id?: string }) => (id === undefined ? <New /> : <Existing id={id} />)

const New = () => (
  <Page title="New webhook" back={{ to: pathTo("webhooks"), text: "Webhooks" }}>
    <Loaded query={useServer()}>{(server) => <WebhookForm server={server} />}</Loaded>
  </Page>
)

const Existing = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const server = useServer()
  const name = showDirectionMarks(webhook.data?.name ?? "Webhook")
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
