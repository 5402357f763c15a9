import type { ReactNode } from "react"
import { Link } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { useActivity, useAlerts, useTeams, useWebhooks } from "../api/Queries.ts"
import type { Activity, Team, Webhook } from "../api/Types.ts"
import { Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { countAll, countEnded, countFailures, sumCounts } from "../components/run/Counts.ts"
import { TeamStatus } from "../components/run/Status.tsx"
import { UserText } from "../components/UserText.tsx"
import { describeUsage, formatNumber, plural, sumUsage, type Usage } from "../format/Format.ts"
import { AlertItem } from "./alert/AlertItem.tsx"
import { GetStarted, isNew } from "./GetStarted.tsx"

/** What needs attention: failures, queued runs and stopped teams. A new server shows how to begin. */
const Overview = () => {
  const webhooks = useWebhooks()
  const activity = useActivity()
  const teams = useTeams()
  return (
    <Page title="Overview">
      {webhooks.data && teams.data && isNew(teams.data, webhooks.data) && <GetStarted webhooks={webhooks.data} />}
      <div className="overview">
        <Loaded query={webhooks}>
          {(all) => (
            <>
              <Firing />
              <Loaded query={activity}>{(hours) => <Failing webhooks={all} activity={hours} />}</Loaded>
              <Loaded query={teams}>
                {(existing) => (
                  <>
                    <Waiting teams={existing} />
                    <Away teams={existing} webhooks={all} />
                  </>
                )}
              </Loaded>
              {activity.data && <Used webhooks={all} activity={activity.data} />}
            </>
          )}
        </Loaded>
      </div>
    </Page>
  )
}

/** Lists show so many items, most important first. */
const most = 10

/** A list of problems, or a text if there are none. */
const Attention = ({
  title,
  none,
  children
}: {
  readonly title: string
  readonly none: string
  readonly children: ReadonlyArray<ReactNode>
}) => (
  <section className="card stack tight" aria-label={title}>
    <h2>{title}</h2>
    {children.length === 0 ? <p className="muted">{none}</p> : <ul className="attention">{children.slice(0, most)}</ul>}
    {children.length > most && <p className="small muted">{formatNumber(children.length - most)} more</p>}
  </section>
)

/** Absent while there are none. */
const Firing = () => {
  const alerts = useAlerts({ state: "firing" })
  if (alerts.data === undefined || alerts.data.length === 0) return null
  return (
    <Attention title="Alerts" none="">
      {alerts.data.map((alert) => (
        <AlertItem key={alert.id} alert={alert} />
      ))}
    </Attention>
  )
}

const Failing = ({
  webhooks,
  activity
}: {
  readonly webhooks: ReadonlyArray<Webhook>
  readonly activity: ReadonlyArray<Activity>
}) => {
  const failing = activity
    .map(({ webhook_id, hours }) => ({
      webhook: webhooks.find(({ id }) => id === webhook_id),
      counts: sumCounts(hours)
    }))
    .filter(({ counts }) => countFailures(counts) > 0)
    .sort((a, b) => countFailures(b.counts) - countFailures(a.counts))
  return (
    <Attention title="Failing in the last 24 hours" none="Nothing has failed.">
      {failing.flatMap(({ webhook, counts }) =>
        webhook
          ? [
              <li key={webhook.id}>
                <Link to={pathTo("webhook", webhook)}>
                  <UserText>{webhook.name}</UserText>
                </Link>
                <span className="small muted">
                  {formatNumber(countFailures(counts))} of {plural(countEnded(counts), "run")}
                </span>
              </li>
            ]
          : []
      )}
    </Attention>
  )
}

/** The webhooks whose agents reported what they used, the most expensive first. */
const Used = ({
  webhooks,
  activity
}: {
  readonly webhooks: ReadonlyArray<Webhook>
  readonly activity: ReadonlyArray<Activity>
}) => {
  const using = activity
    .flatMap(({ webhook_id, hours }) => {
      const usage = sumUsage(hours)
      const webhook = webhooks.find(({ id }) => id === webhook_id)
      return usage && webhook ? [{ webhook, usage, runs: countAll(sumCounts(hours)) }] : []
    })
    .sort((a, b) => (b.usage.cost_usd ?? 0) - (a.usage.cost_usd ?? 0) || tokensOf(b.usage) - tokensOf(a.usage))
  if (using.length === 0) return null
  return (
    <Attention title="Tokens and cost in the last 24 hours" none="">
      {using.map(({ webhook, usage, runs }) => (
        <li key={webhook.id}>
          <Link to={pathTo("webhook", webhook)}>
            <UserText>{webhook.name}</UserText>
          </Link>
          <span className="small muted">
            {describeUsage(usage)}, reported by {formatNumber(usage.reported)} of {plural(runs, "run")}
          </span>
        </li>
      ))}
    </Attention>
  )
}

const tokensOf = ({ input_tokens = 0, output_tokens = 0 }: Usage): number => input_tokens + output_tokens

const Waiting = ({ teams }: { readonly teams: ReadonlyArray<Team> }) => (
  <Attention title="Queued" none="Nothing is queued.">
    {teams
      .filter(({ queued }) => queued > 0)
      .sort((a, b) => b.queued - a.queued)
      .map((team) => (
        <li key={team.team}>
          <Link to={pathTo("team", team)}>{team.team}</Link>
          <span className="small muted">{formatNumber(team.queued)} queued</span>
        </li>
      ))}
  </Attention>
)

const Away = ({
  teams,
  webhooks
}: {
  readonly teams: ReadonlyArray<Team>
  readonly webhooks: ReadonlyArray<Webhook>
}) => (
  <Attention title="Stopped or paused teams" none="Every team is connected.">
    {teams
      .filter(({ paused_at, running }) => !running || paused_at !== undefined)
      .map((team) => (
        <li key={team.team}>
          <Link to={pathTo("team", team)}>{team.team}</Link>
          <span className="row small muted">
            {plural(webhooks.filter((webhook) => webhook.team === team.team).length, "webhook")}
            <TeamStatus team={team} />
          </span>
        </li>
      ))}
  </Attention>
)

export default Overview
