import { pathTo } from "../../../api/Pages.ts"
import { useActivity, useTeams, useWebhooks } from "../../api/Queries.ts"
import { LinkButton } from "../../components/Button.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { ErrorNotice } from "../../components/Notice.tsx"
import { Page } from "../../components/Page.tsx"
import { WebhookList } from "./WebhookList.tsx"

export const Webhooks = () => {
  const webhooks = useWebhooks()
  const teams = useTeams()
  const activity = useActivity()
  return (
    <Page
      title="Webhooks"
      actions={
        webhooks.data?.length !== 0 && (
          <LinkButton needs="webhooks.create" to={pathTo("newWebhook")} variant="primary" icon="plus">
            New webhook
          </LinkButton>
        )
      }
    >
      <Loaded query={webhooks} lines={6}>
        {(all) =>
          all.length === 0 ? <NoWebhooks /> : <WebhookList all={all} teams={teams.data} activity={activity.data} />
        }
      </Loaded>
      {webhooks.data && webhooks.error && <ErrorNotice error={webhooks.error} />}
    </Page>
  )
}

const NoWebhooks = () => (
  <div className="card empty">
    <h2>No webhooks yet</h2>
    <p>
      A webhook is a secret URL. A POST request to it fills in a prompt template and sends the prompt to a team of
      agents. The caller can wait for the answer. GitHub, Slack, Alertmanager and others can call it directly.
    </p>
    <LinkButton needs="webhooks.create" to={pathTo("newWebhook")} variant="primary" icon="plus">
      Create the first webhook
    </LinkButton>
  </div>
)
