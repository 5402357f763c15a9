import { useState } from "react"
import { Link, useLocation } from "wouter"
import { api } from "../api/Client.ts"
import { act, queries, type Range, useServer, useStatistics, useTeams, useWebhook } from "../api/Queries.ts"
import type { Server, Webhook } from "../api/Types.ts"
import { Button, LinkButton } from "../components/Button.tsx"
import { Charts } from "../components/Charts.tsx"
import { Confirm } from "../components/Confirm.tsx"
import { Choice } from "../components/Field.tsx"
import { Loaded, Page } from "../components/Page.tsx"
import { SendTest } from "../components/SendTest.tsx"
import { Running } from "../components/Status.tsx"
import { successRate, sum } from "../components/Strip.tsx"
import { Named, plain } from "../components/Text.tsx"
import { Ago, duration, Exact } from "../components/Time.tsx"
import { say } from "../components/Toasts.tsx"
import { Toggle } from "../components/Toggle.tsx"
import { useAddress } from "../frame/Address.ts"
import { forgetToken, keepToken, useFreshToken } from "./FreshToken.ts"
import { History } from "./History.tsx"
import { useSwitch } from "./Webhooks.tsx"

const WebhookPage = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  return (
    <Page
      title={webhook.data ? plain(webhook.data.name) : "Webhook"}
      heading={webhook.data && <Named>{webhook.data.name}</Named>}
      back={{ to: "/webhooks", text: "Webhooks" }}
      actions={webhook.data && <Actions webhook={webhook.data} />}
    >
      <Loaded from={webhook} lines={8}>
        {(data) => <Body webhook={data} />}
      </Loaded>
    </Page>
  )
}

const Actions = ({ webhook }: { readonly webhook: Webhook }) => {
  const toggle = useSwitch(webhook)
  return (
    <>
      <Toggle on={webhook.enabled} onChange={(on) => toggle.mutate(on)} label={webhook.enabled ? "On" : "Off"}>
        <span className="nowrap" aria-hidden="true">
          {webhook.enabled ? "On" : "Off"}
        </span>
      </Toggle>
      <LinkButton to={`/webhooks/${webhook.id}/call`}>How to call it</LinkButton>
      <LinkButton to={`/webhooks/${webhook.id}/edit`}>Edit</LinkButton>
    </>
  )
}

const Body = ({ webhook }: { readonly webhook: Webhook }) => {
  const server = useServer()
  const teams = useTeams()
  const team = teams.data?.find((each) => each.team === webhook.team)
  return (
    <>
      <section className="card" aria-label="Settings">
        <dl className="facts three">
          <div>
            <dt>Team</dt>
            <dd className="row">
              <Link to={`/teams/${webhook.team}`}>{webhook.team}</Link>
              <Running team={team} />
            </dd>
          </div>
          <Facts webhook={webhook} server={server.data} />
          <div>
            <dt>Last triggered</dt>
            <dd>{webhook.last_triggered_at ? <Ago at={webhook.last_triggered_at} /> : "never"}</dd>
          </div>
          <div>
            <dt>Created</dt>
            <dd>
              <Exact at={webhook.created_at} />
            </dd>
          </div>
        </dl>
        <details className="prompt-template">
          <summary>Prompt template</summary>
          <pre className="rendered">{plain(webhook.prompt_template)}</pre>
        </details>
      </section>
      <div className="side-by-side">
        <section className="card" aria-label="Send a test">
          <h2>Send a test</h2>
          <SendTest webhook={webhook} team={team} />
        </section>
        <Numbers webhook={webhook} />
      </div>
      <History webhook={webhook} />
      <Danger webhook={webhook} />
    </>
  )
}

const Facts = ({ webhook, server }: { readonly webhook: Webhook; readonly server: Server | undefined }) => (
  <>
    <div>
      <dt>Timeout</dt>
      <dd>
        {webhook.timeout_seconds !== undefined
          ? duration(webhook.timeout_seconds * 1000)
          : server && `${duration(server.webhook_timeout_seconds * 1000)} (default)`}
      </dd>
    </div>
    <div>
      <dt>Runs at once</dt>
      <dd>{webhook.max_concurrent ?? (server && `${server.webhook_max_concurrent} (default)`)}</dd>
    </div>
    <div>
      <dt>Token</dt>
      <dd className="mono">whk_{webhook.token_hint}</dd>
    </div>
  </>
)

const ranges = [
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"]
] as const

const Numbers = ({ webhook }: { readonly webhook: Webhook }) => {
  const address = useAddress()
  const range = (ranges.find(([value]) => value === address.get("range"))?.[0] ?? "24h") satisfies Range
  const statistics = useStatistics(webhook.id, range)
  return (
    <section className="card stack" aria-label="Activity">
      <div className="row between">
        <h2>Activity</h2>
        <Choice
          label="Time"
          hideLabel
          value={range}
          onChange={(value) => address.set({ range: value === "24h" ? "" : value }, { replace: true })}
          options={ranges}
        />
      </div>
      <Loaded from={statistics}>
        {(data) => {
          const rate = successRate(sum(data.buckets))
          return (
            <>
              <dl className="facts tight">
                <div>
                  <dt>Slots in use</dt>
                  <dd className="big">
                    {data.slots_in_use} <span className="muted">of {data.limit}</span>
                  </dd>
                </div>
                <div>
                  <dt>Waiting</dt>
                  <dd className="big">{data.queued}</dd>
                </div>
                <div>
                  <dt>Success</dt>
                  <dd className="big">{rate ?? "–"}</dd>
                </div>
              </dl>
              <Charts statistics={data} />
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

const Danger = ({ webhook }: { readonly webhook: Webhook }) => {
  const [, navigate] = useLocation()
  const [asking, setAsking] = useState<"regenerate" | "delete">()
  const close = () => setAsking(undefined)
  const fresh = useFreshToken(webhook.id)
  const regenerate = async () => {
    if (fresh) forgetToken()
    keepToken(await act(api.webhooks.regenerate({ path: { id: webhook.id } })))
    void queries.invalidateQueries({ queryKey: ["webhook", webhook.id] })
    void queries.invalidateQueries({ queryKey: ["webhooks"] })
    navigate(`/webhooks/${webhook.id}/call`)
  }
  const remove = async () => {
    await act(api.webhooks.delete({ path: { id: webhook.id } }))
    navigate("/webhooks")
    void queries.invalidateQueries({ queryKey: ["webhooks"] })
    say(`${plain(webhook.name)} is deleted`)
  }
  return (
    <section className="card stack" aria-label="Token and deletion">
      <div className="row between">
        <div className="grow">
          <h2>Regenerate the token</h2>
          <p className="muted small">
            When it may have leaked or is lost. The old one is dead at once, and every caller needs the new one.
          </p>
        </div>
        <Button onPress={() => setAsking("regenerate")}>Regenerate token</Button>
      </div>
      <div className="row between">
        <div className="grow">
          <h2>Delete the webhook</h2>
          <p className="muted small">With its whole history, for good. Its token is dead at once.</p>
        </div>
        <Button look="danger" onPress={() => setAsking("delete")}>
          Delete webhook
        </Button>
      </div>
      {asking === "regenerate" && (
        <Confirm title="Regenerate the token?" action="Regenerate" onConfirm={regenerate} onClose={close}>
          <p>
            The token that ends in <span className="mono">{webhook.token_hint}</span> stops working at once: every
            caller that uses it gets 404 until it has the new one. Runs that were accepted before go on.
          </p>
        </Confirm>
      )}
      {asking === "delete" && (
        <Confirm
          title="Delete this webhook?"
          action="Delete for good"
          typed={plain(webhook.name)}
          onConfirm={remove}
          onClose={close}
        >
          <p>
            <Named>{webhook.name}</Named> and its whole run history are removed and cannot be brought back. Runs that
            are not finished are dropped, and callers get 404.
          </p>
        </Confirm>
      )}
    </section>
  )
}

export default WebhookPage
