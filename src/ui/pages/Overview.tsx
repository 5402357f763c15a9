import { Link, useLocation } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import {
  useActivity,
  useAlerts,
  useAllRuns,
  useNow,
  useQuestions,
  useTeams,
  useTotals,
  useWebhooks
} from "../api/Queries.ts"
import type { Activity, Alert, Now, RunSummary, Team, Totals, Webhook } from "../api/Types.ts"
import { Loading } from "../components/Loaded.tsx"
import { ErrorNotice } from "../components/Notice.tsx"
import { Page } from "../components/Page.tsx"
import { countAll, sumCounts } from "../components/run/Counts.ts"
import { RunList } from "../components/run/RunList.tsx"
import { UserText } from "../components/UserText.tsx"
import { describeUsage, formatNumber, plural, sumUsage, type Usage } from "../format/Format.ts"
import { GetStarted, isNew } from "./GetStarted.tsx"
import { Figures } from "./home/Figures.tsx"
import { TeamTiles } from "./home/TeamTiles.tsx"
import { WaitingForYou } from "./home/WaitingForYou.tsx"
import { Charts } from "./webhook/chart/Charts.tsx"

const latest = { limit: 8 }

/** Runs that wait for a person, how the last day went, and what the teams do now. A new server shows how to begin. */
const Overview = () => {
  const [webhooks, teams, totals, now] = [useWebhooks(), useTeams(), useTotals(), useNow()]
  const questions = useQuestions()
  const [alerts, activity, runs] = [useAlerts({ state: "firing" }), useActivity(), useAllRuns(latest)]
  const queries = [webhooks, teams, totals, now, alerts, activity, runs]
  const failed = queries.find(({ data, error }) => data === undefined && error !== null)
  // All parts appear together, so nothing moves while loading.
  const isComplete = webhooks.data && teams.data && totals.data && now.data && alerts.data && activity.data && runs.data
  return (
    <Page title="Overview">
      {failed ? (
        <ErrorNotice error={failed.error} onRetry={() => void failed.refetch()} />
      ) : isComplete ? (
        <Content
          webhooks={webhooks.data}
          teams={teams.data}
          totals={totals.data}
          now={now.data}
          alerts={alerts.data}
          activity={activity.data}
          runs={runs.data.data}
          questions={questions}
        />
      ) : (
        <Loading lines={8} />
      )}
    </Page>
  )
}

const Content = ({
  webhooks,
  teams,
  totals,
  now,
  alerts,
  activity,
  runs,
  questions
}: {
  readonly webhooks: ReadonlyArray<Webhook>
  readonly teams: ReadonlyArray<Team>
  readonly totals: Totals
  readonly now: Now
  readonly alerts: ReadonlyArray<Alert>
  readonly activity: ReadonlyArray<Activity>
  readonly runs: ReadonlyArray<RunSummary>
  readonly questions: ReadonlyArray<RunSummary>
}) => (
  <>
    <WaitingForYou webhooks={webhooks} teams={teams} questions={questions} alerts={alerts} activity={activity} />
    {isNew(teams, webhooks) && <GetStarted webhooks={webhooks} />}
    {countAll(sumCounts(totals.days)) > 0 && (
      <>
        <Figures totals={totals} />
        <LastDays days={totals.days} />
      </>
    )}
    {teams.length > 0 && <TeamTiles teams={teams} work={now.work} webhooks={webhooks} />}
    {runs.length > 0 && <LatestRuns runs={runs} webhooks={webhooks} />}
    <Used webhooks={webhooks} activity={activity} />
  </>
)

const LastDays = ({ days }: { readonly days: Totals["days"] }) => {
  const [, navigate] = useLocation()
  const open = (from: string, to: string | undefined) =>
    navigate(`${pathTo("runs")}?${new URLSearchParams({ from, ...(to !== undefined && { to }) })}`)
  return (
    <section className="card stack tight" aria-label="Last 14 days">
      <h2>Last 14 days {new Date().getTimezoneOffset() !== 0 && <span className="small muted">in UTC</span>}</h2>
      <Charts statistics={{ buckets: days }} onPick={open} />
    </section>
  )
}

const LatestRuns = ({
  runs,
  webhooks
}: {
  readonly runs: ReadonlyArray<RunSummary>
  readonly webhooks: ReadonlyArray<Webhook>
}) => (
  <section className="card" aria-label="Latest runs">
    <div className="row between">
      <h2>Latest runs</h2>
      <Link className="small" to={pathTo("runs")}>
        All runs
      </Link>
    </div>
    <RunList
      runs={runs}
      label="Newest first"
      nameOf={({ webhook_id }) =>
        webhook_id === undefined ? "Chat" : (webhooks.find(({ id }) => id === webhook_id)?.name ?? "Webhook")
      }
    />
  </section>
)

/** The list shows so many webhooks. */
const most = 10

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
    <section className="card stack tight" aria-label="Tokens and cost in the last 24 hours">
      <h2>Tokens and cost in the last 24 hours</h2>
      <ul className="attention">
        {using.slice(0, most).map(({ webhook, usage, runs }) => (
          <li key={webhook.id}>
            <Link to={pathTo("webhook", webhook)}>
              <UserText>{webhook.name}</UserText>
            </Link>
            <span className="small muted">
              {describeUsage(usage)}, reported by {formatNumber(usage.reported)} of {plural(runs, "run")}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const tokensOf = ({ input_tokens = 0, output_tokens = 0 }: Usage): number => input_tokens + output_tokens

export default Overview
