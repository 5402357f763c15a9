import { useState } from "react"
import { pathTo } from "../../../api/Pages.ts"
import { useMay } from "../../api/Access.ts"
import type { Activity, Team, Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { countAll, countFailures, sumCounts } from "../../components/run/Counts.ts"
import { useSelection } from "../../components/Selection.tsx"
import { formatNumber, plural } from "../../format/Format.ts"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { SelectedWebhooks } from "./SelectedWebhooks.tsx"
import { WebhookRow } from "./WebhookRow.tsx"

/** How many rows are shown at a time. */
const portion = 100

const states = [
  ["", "On and off"],
  ["on", "On"],
  ["off", "Off"]
] as const

const orders = [
  ["", "By name"],
  ["team", "By team"],
  ["last-run", "Last run first"],
  ["failures", "Most failures first"]
] as const

/** All webhooks. The search and the filters are in the address. */
export const WebhookList = ({
  all,
  teams,
  activity
}: {
  readonly all: ReadonlyArray<Webhook>
  readonly teams: ReadonlyArray<Team> | undefined
  readonly activity: ReadonlyArray<Activity> | undefined
}) => {
  const filters = useUrlFilters()
  const may = useMay()
  const [shown, setShown] = useState(portion)
  const { ids: chosen, select, toggle } = useSelection()
  const [search, team] = [filters.get("search"), filters.get("team")]
  const state = states.find(([value]) => value === filters.get("state"))?.[0] ?? ""
  const order = orders.find(([value]) => value === filters.get("order"))?.[0] ?? ""
  const teamNames = [...new Set(all.map((webhook) => webhook.team))].sort()
  const words = search.trim().toLowerCase()
  const activityOf = new Map(activity?.map((each) => [each.webhook_id, each]))
  const failures = ({ id }: Webhook) => countFailures(sumCounts(activityOf.get(id)?.hours ?? []))
  const compare: Record<typeof order, (a: Webhook, b: Webhook) => number> = {
    "": () => 0,
    team: (a, b) => a.team.localeCompare(b.team),
    "last-run": (a, b) => (b.last_triggered_at ?? "").localeCompare(a.last_triggered_at ?? ""),
    failures: (a, b) => failures(b) - failures(a)
  }
  const matching = all.filter(
    (webhook) =>
      (words === "" || `${webhook.name} ${webhook.team} ${webhook.token_hint ?? ""}`.toLowerCase().includes(words)) &&
      (team === "" || webhook.team === team) &&
      (state === "" || webhook.enabled === (state === "on"))
  )
  const found = matching
    .toSorted((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }))
    .toSorted(compare[order])
  const page = found.slice(0, shown)
  const selected = found.filter(({ id }) => chosen.has(id))
  const mayEdit = may("webhooks.edit")
  const hourly = activity?.flatMap(({ hours }) => hours.map((hour) => countAll(sumCounts([hour])))) ?? []
  const most = hourly.reduce((most, count) => Math.max(most, count), 1)
  return (
    <>
      <search className="filters webhooks-filters">
        <TextField
          label="Search"
          hideLabel
          type="search"
          placeholder="Search by name or team"
          value={search}
          onChange={(text) => filters.set({ search: text }, { replace: true })}
        />
        <SelectField
          label="Team"
          hideLabel
          value={team}
          onChange={(value) => filters.set({ team: value })}
          options={[["", "All teams"], ...teamNames.map((name) => [name, name] as const)]}
        />
        <SelectField
          label="State"
          hideLabel
          value={state}
          onChange={(value) => filters.set({ state: value })}
          options={states}
        />
        <SelectField
          label="Order"
          hideLabel
          value={order}
          onChange={(value) => filters.set({ order: value })}
          options={orders}
        />
      </search>
      <p className="sr-only" role="status">
        {plural(found.length, "webhook")} shown
      </p>
      {found.length === 0 ? (
        <div className="card empty">
          <p>No webhooks match.</p>
          {words !== "" && (
            <LinkButton to={`${pathTo("runs")}?${new URLSearchParams({ search: search.trim() })}`}>
              Search the runs
            </LinkButton>
          )}
          <LinkButton to={pathTo("webhooks")}>Show all</LinkButton>
        </div>
      ) : (
        <div className={mayEdit ? "selectable" : ""}>
          {mayEdit && <SelectedWebhooks page={page} selected={selected} teams={teamNames} onSelect={select} />}
          <div className="card webhooks">
            <div className="webhook webhook-head small muted" aria-hidden="true">
              <span>Webhook</span>
              <span>Team and URL</span>
              <span>Last 24 hours</span>
              <span>Last run</span>
              <span>On</span>
            </div>
            <ul aria-label="Webhooks">
              {page.map((webhook) => (
                <li key={webhook.id}>
                  {mayEdit && (
                    <label className="select">
                      <input
                        type="checkbox"
                        checked={chosen.has(webhook.id)}
                        onChange={() => toggle(webhook.id)}
                        aria-label={`Select ${webhook.name}`}
                      />
                    </label>
                  )}
                  <WebhookRow
                    webhook={webhook}
                    team={teams?.find((each) => each.team === webhook.team)}
                    activity={activityOf.get(webhook.id)}
                    most={most}
                  />
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
      {found.length > shown && (
        <div>
          <Button onPress={() => setShown(shown + portion)}>Show more ({formatNumber(found.length - shown)})</Button>
        </div>
      )}
    </>
  )
}
