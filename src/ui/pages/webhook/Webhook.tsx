import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { presets } from "../../../domain/verification/Presets.ts"
import { isListening } from "../../../domain/webhook/Listening.ts"
import { Allowed, useMay } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction, useServer, useTeams, useWebhook } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { isGone, Loaded, loadLater } from "../../components/Loaded.tsx"
import { Notice } from "../../components/Notice.tsx"
import { Page } from "../../components/Page.tsx"
import { SendTest } from "../../components/run/SendTest.tsx"
import { TeamStatus } from "../../components/run/Status.tsx"
import { ServiceMark } from "../../components/ServiceMark.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { withCode } from "../../components/WithCode.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime, RelativeTime } from "../../format/Time.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { FiringAlerts } from "../alert/AlertItem.tsx"
import { Destinations } from "../destination/Destinations.tsx"
import { defaultSettings, ownSettings, SettingFacts } from "../webhook-form/WebhookSettings.tsx"
import { DuplicateWebhook } from "./DuplicateWebhook.tsx"
import { IgnoredRequests, RefusedRequests } from "./RefusedRequests.tsx"
import { RunHistory } from "./RunHistory.tsx"
import { Setup } from "./Setup.tsx"
import { UrlSharers, WebhookName } from "./SharedUrl.tsx"
import { VerificationFacts } from "./VerificationFacts.tsx"
import { WebhookActivity } from "./WebhookActivity.tsx"
import { WebhookDangerZone } from "./WebhookDangerZone.tsx"
import { WebhookToggle } from "./WebhookToggle.tsx"

const Listening = loadLater(() => import("./Listening.tsx"))

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
      {webhook.shares === undefined && <LinkButton to={pathTo("callWebhook", webhook)}>How to call it</LinkButton>}
      <LinkButton needs="webhooks.edit" to={pathTo("editWebhook", webhook)}>
        Edit
      </LinkButton>
    </>
  )
}

const allTabs = [
  ["runs", "Runs"],
  ["test", "Test"],
  ["destinations", "Destinations"],
  ["settings", "Settings"]
] as const
type TabId = (typeof allTabs)[number][0]

/** The tabs of a webhook. The selected tab is in the address. */
const Content = ({ webhook }: { readonly webhook: Webhook }) => {
  const may = useMay()
  const tabs = allTabs.filter(([id]) => id !== "test" || may("overview.run"))
  const teams = useTeams()
  const filters = useUrlFilters()
  const team = teams.data?.find((each) => each.team === webhook.team)
  const selected = tabs.find(([id]) => id === filters.get("tab"))?.[0] ?? "runs"
  const panels: Record<TabId, () => ReactNode> = {
    runs: () => (
      <>
        <WebhookActivity webhook={webhook} />
        <RunHistory webhook={webhook} />
        <RefusedRequests webhook={webhook} />
        <IgnoredRequests webhook={webhook} />
      </>
    ),
    test: () => (
      <section className="card" aria-label="Send a test">
        <h2>Send a test</h2>
        <SendTest webhook={webhook} team={team} />
      </section>
    ),
    destinations: () => <Destinations webhook_id={webhook.id} />,
    settings: () => (
      <>
        <Details webhook={webhook} />
        <Allowed needs="webhooks.edit">
          <DuplicateWebhook webhook={webhook} />
          <WebhookDangerZone webhook={webhook} />
        </Allowed>
      </>
    )
  }
  return (
    <>
      <p className="row small muted">
        {webhook.verification && (
          <span className="row">
            <ServiceMark preset={webhook.verification.preset} />
            {presets[webhook.verification.preset].label}
          </span>
        )}
        <span>
          Team <Link to={pathTo("team", webhook)}>{webhook.team}</Link>
        </span>
        <TeamStatus team={team} />
        {webhook.shares !== undefined && (
          <span>
            Shares the URL of <WebhookName id={webhook.shares} />
          </span>
        )}
        <span>
          {webhook.last_triggered_at ? (
            <>
              Last triggered <RelativeTime at={webhook.last_triggered_at} />
            </>
          ) : (
            "Never triggered"
          )}
        </span>
        {webhook.enabled && webhook.next_scheduled_at && (
          <span>
            Triggers itself at <ExactTime at={webhook.next_scheduled_at} />
          </span>
        )}
      </p>
      {webhook.warnings?.map(({ detail, pointer }) => (
        <Notice key={pointer} tone="warning">
          {withCode(detail)}
        </Notice>
      ))}
      <PausedNotice webhook={webhook} />
      <FiringAlerts webhook_id={webhook.id} />
      <Setup webhook={webhook} />
      {isListening(webhook) && <Listening webhook={webhook} />}
      <Tabs
        className="tabs"
        selectedKey={selected}
        onSelectionChange={(key) => filters.set({ tab: key === "runs" ? "" : String(key) })}
      >
        <TabList aria-label="Webhook" className="tab-list">
          {tabs.map(([id, title]) => (
            <Tab key={id} id={id} className="tab">
              {title}
            </Tab>
          ))}
        </TabList>
        {tabs.map(([id]) => (
          <TabPanel key={id} id={id} className="stack">
            {panels[id]()}
          </TabPanel>
        ))}
      </Tabs>
    </>
  )
}

const Details = ({ webhook }: { readonly webhook: Webhook }) => {
  const server = useServer()
  const defaults = defaultSettings(webhook)
  return (
    <section className="card stack" aria-label="Settings">
      <dl className="facts three">
        <SettingFacts names={ownSettings(webhook)} webhook={webhook} server={server.data} />
        <VerificationFacts webhook={webhook} />
        <div>
          <dt>Token</dt>
          <dd className="mono">{webhook.token_hint === undefined ? "none" : `whk_${webhook.token_hint}`}</dd>
        </div>
        <OldToken webhook={webhook} />
        <UrlSharers id={webhook.id} />
        <div>
          <dt>Created</dt>
          <dd>
            <ExactTime at={webhook.created_at} />
          </dd>
        </div>
      </dl>
      {defaults.length > 0 && (
        <details>
          <summary>{plural(defaults.length, "default")}</summary>
          <dl className="facts three">
            <SettingFacts names={defaults} webhook={webhook} server={server.data} />
          </dl>
        </details>
      )}
      <div className="prompt-template stack tight">
        <div className="row between">
          <h2>Prompt template</h2>
          <Link to={pathTo("templates", webhook)}>Versions</Link>
        </div>
        <pre className="rendered" tabIndex={0} role="region" aria-label="Prompt template">
          {showDirectionMarks(webhook.prompt_template)}
        </pre>
      </div>
    </section>
  )
}

/** Says that the webhook was paused automatically, and resumes it. */
const PausedNotice = ({ webhook: { id, name, paused_at, paused_reason } }: { readonly webhook: Webhook }) => {
  const { isPending, mutate } = useMutation({
    mutationFn: () => runAction(() => api.webhooks.resume({ path: { id } })),
    onSuccess: async () => {
      await Promise.all(
        [["webhooks"], ["webhook", id], ["alerts"]].map((queryKey) => queries.invalidateQueries({ queryKey }))
      )
      toast(`${showDirectionMarks(name)} resumed`)
    },
    onError: (error) => toastFailure(explain(error).title)
  })
  if (paused_at === undefined) return null
  return (
    <Notice tone="warning">
      <div className="row between">
        <span>
          Paused since <ExactTime at={paused_at} />: {paused_reason}. Requests are rejected (409). A successful replay
          or test also resumes it.
        </span>
        <Button needs="webhooks.resume" compact icon="play" pending={isPending} onPress={() => mutate()}>
          Resume
        </Button>
      </div>
    </Notice>
  )
}

const end = async (webhook: Webhook) => {
  await runAction(() => api.webhooks.endOldToken({ path: { id: webhook.id } }))
  void queries.invalidateQueries({ queryKey: ["webhook", webhook.id] })
  toast("The old token no longer works.")
}

/** The old token while it is valid, and its last use. An entry of a `dl`. */
const OldToken = ({ webhook }: { readonly webhook: Webhook }) => {
  const { old_token_hint, old_token_used_at, old_token_used_from, old_token_valid_until } = webhook
  if (old_token_valid_until === undefined || Date.parse(old_token_valid_until) <= Date.now()) return null
  return (
    <div>
      <dt>Old token</dt>
      <dd className="stack">
        <span>
          <span className="mono">whk_{old_token_hint}</span>, valid until <ExactTime at={old_token_valid_until} />
        </span>
        <span>
          {old_token_used_at === undefined ? (
            "Not used since it was replaced"
          ) : (
            <>
              Last used <RelativeTime at={old_token_used_at} /> from {old_token_used_from}
            </>
          )}
        </span>
        <span>
          <Button
            needs="webhooks.endOldToken"
            compact
            onPress={() => void end(webhook).catch((error: Error) => toast(error.message))}
          >
            End it now
          </Button>
        </span>
      </dd>
    </div>
  )
}

export default WebhookPage
