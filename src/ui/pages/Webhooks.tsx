import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { Link } from "wouter"
import { api } from "../api/Client.ts"
import { explain } from "../api/Errors.ts"
import { act, queries, useActivity, useTeams, useWebhooks } from "../api/Queries.ts"
import type { Activity, Team, Webhook } from "../api/Types.ts"
import { Button, LinkButton } from "../components/Button.tsx"
import { Choice, Field } from "../components/Field.tsx"
import { Failure } from "../components/Note.tsx"
import { Loaded, Page } from "../components/Page.tsx"
import { Running } from "../components/Status.tsx"
import { count, plural, Strip, successRate, sum } from "../components/Strip.tsx"
import { Named, plain } from "../components/Text.tsx"
import { Ago } from "../components/Time.tsx"
import { say } from "../components/Toasts.tsx"
import { Toggle } from "../components/Toggle.tsx"
import { useAddress } from "../frame/Address.ts"

export const Webhooks = () => {
  const webhooks = useWebhooks()
  const teams = useTeams()
  const activity = useActivity()
  return (
    <Page
      title="Webhooks"
      actions={
        <LinkButton to="/webhooks/new" look="primary" icon="plus">
          New webhook
        </LinkButton>
      }
    >
      <Loaded from={webhooks} lines={6}>
        {(all) => (all.length === 0 ? <First /> : <List all={all} teams={teams.data} activity={activity.data} />)}
      </Loaded>
      {webhooks.data && webhooks.error && <Failure error={webhooks.error} />}
    </Page>
  )
}

const First = () => (
  <div className="card empty">
    <h2>No webhooks yet</h2>
    <p>
      A webhook is a secret address. Whoever posts to it sends a prompt, filled in with their own values, to a team of
      agents that is running, and can wait for the answer.
    </p>
    <LinkButton to="/webhooks/new" look="primary" icon="plus">
      Create the first webhook
    </LinkButton>
  </div>
)

/** Rows drawn at once. */
const portion = 100

const states = [
  ["", "On and off"],
  ["on", "On"],
  ["off", "Off"]
] as const

const List = ({
  all,
  teams,
  activity
}: {
  readonly all: ReadonlyArray<Webhook>
  readonly teams: ReadonlyArray<Team> | undefined
  readonly activity: ReadonlyArray<Activity> | undefined
}) => {
  const address = useAddress()
  const [shown, setShown] = useState(portion)
  const [search, team, state] = [address.get("search"), address.get("team"), address.get("state")]
  const names = [...new Set(all.map((webhook) => webhook.team))].sort()
  const wanted = search.trim().toLowerCase()
  const found = all.filter(
    (webhook) =>
      (wanted === "" || `${webhook.name} ${webhook.team} ${webhook.token_hint}`.toLowerCase().includes(wanted)) &&
      (team === "" || webhook.team === team) &&
      (state === "" || webhook.enabled === (state === "on"))
  )
  return (
    <>
      <search className="filters">
        <Field
          label="Search"
          hideLabel
          type="search"
          placeholder="Search by name or team"
          value={search}
          onChange={(text) => address.set({ search: text }, { replace: true })}
        />
        <Choice
          label="Team"
          hideLabel
          value={team}
          onChange={(value) => address.set({ team: value })}
          options={[["", "All teams"], ...names.map((name) => [name, name] as const)]}
        />
        <Choice
          label="State"
          hideLabel
          value={state as "" | "on" | "off"}
          onChange={(value) => address.set({ state: value })}
          options={states}
        />
      </search>
      <p className="sr" role="status">
        {plural(found.length, "webhook")} shown
      </p>
      {found.length === 0 ? (
        <div className="card empty">
          <p>No webhook matches.</p>
          <LinkButton to="/webhooks">Show all</LinkButton>
        </div>
      ) : (
        <ul className="card webhooks">
          {found.slice(0, shown).map((webhook) => (
            <Row
              key={webhook.id}
              webhook={webhook}
              team={teams?.find((each) => each.team === webhook.team)}
              activity={activity?.find((each) => each.webhook_id === webhook.id)}
            />
          ))}
        </ul>
      )}
      {found.length > shown && (
        <div>
          <Button onPress={() => setShown(shown + portion)}>Show more ({count.format(found.length - shown)})</Button>
        </div>
      )}
    </>
  )
}

/** Switches a webhook on or off: at once on screen, and back again when the server refuses. */
export const useSwitch = (webhook: Webhook) => {
  const show = (enabled: boolean) => {
    // What is being read was asked for before this change, and would undo it on screen.
    for (const queryKey of [["webhooks"], ["webhook", webhook.id]]) void queries.cancelQueries({ queryKey })
    const changed = <W extends Webhook>(each: W): W => (each.id === webhook.id ? { ...each, enabled } : each)
    queries.setQueryData<ReadonlyArray<Webhook>>(["webhooks"], (all) => all?.map(changed))
    queries.setQueryData<Webhook>(["webhook", webhook.id], (one) => one && changed(one))
  }
  return useMutation({
    mutationFn: (enabled: boolean) => act(api.webhooks.edit({ path: { id: webhook.id }, payload: { enabled } })),
    onMutate: show,
    onSuccess: ({ enabled, name }) => {
      show(enabled)
      say(`${plain(name)} is ${enabled ? "on" : "off: triggers now get 404"}`)
    },
    onError: (error, enabled) => {
      show(!enabled)
      say(explain(error).title)
    }
  })
}

const Row = ({
  webhook,
  team,
  activity
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  readonly activity: Activity | undefined
}) => {
  const toggle = useSwitch(webhook)
  const rate = activity && successRate(sum(activity.hours))
  return (
    <li className={webhook.enabled ? "webhook" : "webhook off"}>
      <div className="webhook-name">
        <Link to={`/webhooks/${webhook.id}`}>
          <Named>{webhook.name}</Named>
        </Link>
        <span className="row small">
          <Link className="muted" to={`/teams/${webhook.team}`}>
            {webhook.team}
          </Link>
          <Running team={team} />
          <span className="muted mono">{webhook.token_hint}</span>
        </span>
      </div>
      <div className="webhook-last small muted">
        {webhook.last_triggered_at ? <Ago at={webhook.last_triggered_at} /> : "never triggered"}
      </div>
      <div className="webhook-activity">
        <Strip activity={activity} />
        <span className="small muted">{rate ? `${rate} success` : "no runs in 24 h"}</span>
      </div>
      <Toggle
        on={webhook.enabled}
        label={`${webhook.name} is ${webhook.enabled ? "on" : "off"}`}
        onChange={(on) => toggle.mutate(on)}
      />
    </li>
  )
}
