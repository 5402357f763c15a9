import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { countRated } from "../../../domain/run/RunStatus.ts"
import { plainText, titleOf } from "../../../domain/run/RunTitle.ts"
import type { Activity, Alert, RunSummary, Team, Webhook } from "../../api/Types.ts"
import { Icon } from "../../components/Icon.tsx"
import { countFailures, sumCounts } from "../../components/run/Counts.ts"
import { StatusBadge, TeamStatus } from "../../components/run/Status.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { formatNumber, plural } from "../../format/Format.ts"
import { RelativeTime } from "../../format/Time.tsx"
import { AlertItem } from "../alert/AlertItem.tsx"

/** Below this share of failures, a webhook does not wait for a person. */
const failing = 0.1

/** The list shows so many items, questions first. */
const most = 12

/** Runs that wait for approval, questions of agents, alerts, teams that cannot work, and failing webhooks; nothing without any. */
export const WaitingForYou = ({
  webhooks,
  teams,
  questions,
  alerts,
  activity
}: {
  readonly webhooks: ReadonlyArray<Webhook>
  readonly teams: ReadonlyArray<Team>
  readonly questions: ReadonlyArray<RunSummary>
  readonly alerts: ReadonlyArray<Alert>
  readonly activity: ReadonlyArray<Activity>
}) => {
  const nameOf = (id: string | undefined) => webhooks.find((webhook) => webhook.id === id)?.name
  const away = teams.filter(
    ({ paused_at, queued, resting_until, running, team }) =>
      (paused_at ?? resting_until) !== undefined ||
      (!running && (queued > 0 || webhooks.some((webhook) => webhook.team === team)))
  )
  const failures = activity
    .map(({ webhook_id, hours }) => ({ webhook_id, name: nameOf(webhook_id), counts: sumCounts(hours) }))
    .filter(({ counts }) => countFailures(counts) > 0 && countFailures(counts) >= failing * countRated(counts))
    .sort((a, b) => countFailures(b.counts) - countFailures(a.counts))
  const items = [
    ...questions.map((run) => <Question key={run.run_id} run={run} name={nameOf(run.webhook_id) ?? run.team} />),
    ...alerts.map((alert) => <AlertItem key={alert.id} alert={alert} />),
    ...away.map((team) => (
      <li key={team.team}>
        <Link to={pathTo("team", team)}>{team.team}</Link>
        <span className="row small muted">
          {team.queued > 0 ? `${formatNumber(team.queued)} queued` : plural(webhooksOf(team, webhooks), "webhook")}
          <TeamStatus team={team} />
        </span>
      </li>
    )),
    ...failures.flatMap(({ counts, name, webhook_id }) =>
      name === undefined
        ? []
        : [
            <li key={webhook_id}>
              <Link to={pathTo("webhook", { id: webhook_id })}>
                <UserText>{name}</UserText>
              </Link>
              <span className="row small muted">
                {formatNumber(countFailures(counts))} of {plural(countRated(counts), "run")} in 24 hours
                <span className="badge danger">
                  <Icon name="cross" />
                  Failing
                </span>
              </span>
            </li>
          ]
    )
  ]
  if (items.length === 0) return null
  return (
    <section className="card waiting" aria-label="Waiting for you">
      <h2>
        Waiting for you <span className="count">{formatNumber(items.length)}</span>
      </h2>
      <ul className="attention">{items.slice(0, most)}</ul>
      {items.length > most && <p className="small muted">{formatNumber(items.length - most)} more</p>}
    </section>
  )
}

const webhooksOf = ({ team }: Team, webhooks: ReadonlyArray<Webhook>): number =>
  webhooks.filter((webhook) => webhook.team === team).length

/** The prompt or work to be approved; else the line that asks, or the first one. */
const questionOf = (run: RunSummary): string => {
  if (run.status === "queued") return showDirectionMarks(titleOf(run))
  const lines = plainText(run.conversation.response ?? "")
    .split("\n")
    .filter((line) => line.trim() !== "")
  return showDirectionMarks((lines.find((line) => line.includes("?")) ?? lines[0] ?? "A question").slice(0, 300))
}

const Question = ({ run, name }: { readonly run: RunSummary; readonly name: string }) => (
  <li>
    <Link className="question" to={pathTo("run", run)}>
      <bdi>{questionOf(run)}</bdi>
    </Link>
    <span className="row small muted">
      <UserText>{name}</UserText>
      <RelativeTime at={run.finished_at ?? run.accepted_at} />
      {run.status === "queued" ? (
        <StatusBadge run={run} />
      ) : (
        <span className="badge info">
          <Icon name="info" />
          Asks
        </span>
      )}
    </span>
  </li>
)
