import { Link } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { useServer, useTeams, useWebhook } from "../api/Queries.ts"
import type { Team, Webhook } from "../api/Types.ts"
import { LinkButton } from "../components/Button.tsx"
import { isGone, Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { SendTest } from "../components/SendTest.tsx"
import { TeamStatus } from "../components/Status.tsx"
import { ExactTime, RelativeTime } from "../components/Time.tsx"
import { showDirectionMarks, UserText } from "../components/UserText.tsx"
import { SettingFacts } from "../components/WebhookSettings.tsx"
import { WebhookToggle } from "../components/WebhookToggle.tsx"
import { OldToken } from "./OldToken.tsx"
import { RefusedRequests } from "./RefusedRequests.tsx"
import { RunHistory } from "./RunHistory.tsx"
import { WebhookActivity } from "./WebhookActivity.tsx"
import { WebhookDangerZone } from "./WebhookDangerZone.tsx"

const WebhookPage = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  return (
    <Page
      title={webhook.data ? showDirectionMarks(webhook.data.name) : "Webhook"}
      heading={webhook.data && <UserText>{webhook.data.name}</UserText>}
      back={{ to: pathTo("webhooks"), text: "Webhooks" }}
      actions={webhook.data && !isGone(webhook) && <Actions webhook={webhook.data} />}
    >
      <Loaded query={webhook} lines={8}>
        {(data) => <Content webhook={data} />}
      </Loaded>
    </Page>
  )
}

const Actions = ({ webhook }: { readonly webhook: Webhook }) => {
  const state = webhook.enabled ? "On" : "Off"
  return (
    <>
      <WebhookToggle webhook={webhook} label={state}>
        <span className="nowrap" aria-hidden="true">
          {state}
        </span>
      </WebhookToggle>
      <LinkButton to={pathTo("callWebhook", webhook)}>How to call it</LinkButton>
      <LinkButton to={pathTo("editWebhook", webhook)}>Edit</LinkButton>
    </>
  )
}

const Content = ({ webhook }: { readonly webhook: Webhook }) => {
  const teams = useTeams()
  const team = teams.data?.find((each) => each.team === webhook.team)
  return (
    <>
      <Details webhook={webhook} team={team} />
      <div className="side-by-side">
        <section className="card" aria-label="Send a test">
          <h2>Send a test</h2>
          <SendTest webhook={webhook} team={team} />
        </section>
        <WebhookActivity webhook={webhook} />
      </div>
      <RunHistory webhook={webhook} />
      <RefusedRequests webhook={webhook} />
      <WebhookDangerZone webhook={webhook} />
    </>
  )
}

const Details = ({ webhook, team }: { readonly webhook: Webhook; readonly team: Team | undefined }) => {
  const server = useServer()
  return (
    <section className="card" aria-label="Settings">
      <dl className="facts three">
        <div>
          <dt>Team</dt>
          <dd className="row">
            <Link to={pathTo("team", webhook)}>{webhook.team}</Link>
            <TeamStatus team={team} />
          </dd>
        </div>
        <SettingFacts webhook={webhook} server={server.data} />
        <div>
          <dt>Token</dt>
          <dd className="mono">whk_{webhook.token_hint}</dd>
        </div>
        <OldToken webhook={webhook} />
        <div>
          <dt>Last triggered</dt>
          <dd>{webhook.last_triggered_at ? <RelativeTime at={webhook.last_triggered_at} /> : "Never"}</dd>
        </div>
        <div>
          <dt>Created</dt>
          <dd>
            <ExactTime at={webhook.created_at} />
          </dd>
        </div>
      </dl>
      <details className="prompt-template">
        <summary>Prompt template</summary>
        <pre className="rendered">{showDirectionMarks(webhook.prompt_template)}</pre>
      </details>
    </section>
  )
}

export default WebhookPage
