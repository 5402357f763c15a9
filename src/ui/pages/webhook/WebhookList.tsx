import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { Activity, Team, Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Icon } from "../../components/Icon.tsx"
import { countAll, countFailures, describeCounts, sumCounts, summarizeCounts } from "../../components/run/Counts.ts"
import { TeamStatus } from "../../components/run/Status.tsx"
import { ServiceMark } from "../../components/ServiceMark.tsx"
import { UserText } from "../../components/UserText.tsx"
import { formatNumber, plural } from "../../format/Format.ts"
import { RelativeTime } from "../../format/Time.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { WebhookToggle } from "./WebhookToggle.tsx"

/** How many rows are shown at a time. */
const portion = 100

const states = [
  ["", "On and off"],
  ["on", "On"],
  ["off", "Off"]
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
  const [shown, setShown] = useState(portion)
  const [search, team] = [filters.get("search"), filters.get("team")]
  const state = states.find(([value]) => value === filters.get("state"))?.[0] ?? ""
  const teamNames = [...new Set(all.map((webhook) => webhook.team))].sort()
  const words = search.trim().toLowerCase()
  const found = all.filter(
    (webhook) =>
      (words === "" || `${webhook.name} ${webhook.team} ${webhook.token_hint ?? ""}`.toLowerCase().includes(words)) &&
      (team === "" || webhook.team === team) &&
      (state === "" || webhook.enabled === (state === "on"))
  )
  const hourly = activity?.flatMap(({ hours }) => hours.map((hour) => countAll(sumCounts([hour])))) ?? []
  const most = hourly.reduce((most, count) => Math.max(most, count), 1)
  return (
    <>
      <search className="filters">
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
      </search>
      <p className="sr-only" role="status">
        {plural(found.length, "webhook")} shown
      </p>
      {found.length === 0 ? (
        <div className="card empty">
          <p>No webhooks match.</p>
          {words !== "" && (
            <LinkButton variant="primary" to={`${pathTo("runs")}?${new URLSearchParams({ search: search.trim() })}`}>
              Search the runs
            </LinkButton>
          )}
          <LinkButton to={pathTo("webhooks")}>Show all</LinkButton>
        </div>
      ) : (
        <ul className="card webhooks">
          {found.slice(0, shown).map((webhook) => (
            <Row
              key={webhook.id}
              webhook={webhook}
              team={teams?.find((each) => each.team === webhook.team)}
              activity={activity?.find((each) => each.webhook_id === webhook.id)}
              most={most}
            />
          ))}
        </ul>
      )}
      {found.length > shown && (
        <div>
          <Button onPress={() => setShown(shown + portion)}>Show more ({formatNumber(found.length - shown)})</Button>
        </div>
      )}
    </>
  )
}

const Row = ({
  webhook,
  team,
  activity,
  most
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  readonly activity: Activity | undefined
  readonly most: number
}) => {
  const counts = activity && summarizeCounts(sumCounts(activity.hours))
  return (
    <li className={webhook.enabled ? "webhook" : "webhook off"}>
      <div className="webhook-name row">
        <span className="marked">
          {webhook.verification && <ServiceMark preset={webhook.verification.preset} titled />}
          <Link to={pathTo("webhook", webhook)}>
            <UserText>{webhook.name}</UserText>
          </Link>
        </span>
        {webhook.paused_at !== undefined && (
          <span className="badge warning">
            <Icon name="pause" />
            Paused
          </span>
        )}
      </div>
      <span className="webhook-team row small">
        <Link className="muted" to={pathTo("team", webhook)}>
          {webhook.team}
        </Link>
        <TeamStatus team={team} />
        {webhook.shares === undefined ? (
          <span className="muted mono">{webhook.token_hint}</span>
        ) : (
          <span className="muted">shared URL</span>
        )}
      </span>
      <div className="webhook-activity">
        <ActivityBars activity={activity} most={most} />
        <span className="small muted">{counts ?? "no runs in 24 h"}</span>
      </div>
      <div className="webhook-last small muted">
        {webhook.last_triggered_at ? <RelativeTime at={webhook.last_triggered_at} /> : "never triggered"}
      </div>
      <WebhookToggle webhook={webhook} label={`${webhook.name} is ${webhook.enabled ? "on" : "off"}`} />
    </li>
  )
}

const hourCount = 24

/** One bar for each of the last 24 hours: runs in total, failed (red, at the bottom) and unfinished (blue, at the top). */
const ActivityBars = ({
  activity,
  most
}: {
  readonly activity: Activity | undefined
  /** Runs in the highest bar of all rows, which have one scale. */
  readonly most: number
}) => {
  const byHour = new Map(activity?.hours.map((counts) => [counts.hour, counts]))
  const hours = Array.from({ length: hourCount }, (_, hour) => sumCounts([byHour.get(hour) ?? {}]))
  const total = sumCounts(hours)
  const label = countAll(total) === 0 ? "No runs in the last 24 hours" : `Last 24 hours: ${describeCounts(total)}`
  return (
    <svg className="activity-bars" viewBox="0 0 144 28" role="img" aria-label={label} preserveAspectRatio="none">
      {hours.map((hour, i) => {
        const all = countAll(hour)
        const height = all === 0 ? 2 : Math.max(4, (all / most) * 26)
        const part = (count: number) => (all === 0 ? 0 : (height * count) / all)
        const [failed, unfinished] = [part(countFailures(hour)), part(hour.live)]
        return (
          <g key={i}>
            <rect
              className={all === 0 ? "empty-hour" : "runs-bar"}
              x={i * 6}
              y={28 - height}
              width="4.5"
              height={height}
              rx="1"
            />
            {unfinished > 0 && (
              <rect className="unfinished-bar" x={i * 6} y={28 - height} width="4.5" height={unfinished} rx="1" />
            )}
            {failed > 0 && (
              <rect className="failures-bar" x={i * 6} y={28 - failed} width="4.5" height={failed} rx="1" />
            )}
          </g>
        )
      })}
    </svg>
  )
}
