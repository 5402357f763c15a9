import { Clock, DateTime, Duration, Effect } from "effect"
import type { IdempotencyKeyReused, WebhookPaused } from "../../domain/Errors.ts"
import { type RunId, runIdAt } from "../../domain/Id.ts"
import { type AgentRequest, agentRequestOf } from "../../domain/run/AgentRequest.ts"
import { approvalDays } from "../../domain/run/Held.ts"
import { leaderWait, type RunMode, type Variables } from "../../domain/run/Run.ts"
import { isIncoming } from "../../domain/run/RunFile.ts"
import { isCommit } from "../../domain/run/WorkspaceRef.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type Actor, needsApproval } from "../../domain/webhook/Approvers.ts"
import type { Budget } from "../../domain/webhook/Budget.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { Retries } from "../../domain/webhook/WebhookSettingKinds.ts"
import type { WholeRun } from "../../repo/history/HistoryStore.ts"
import type { NewRun } from "../../repo/run/RunStore.ts"
import type { Rendered } from "../prompt/Renderer.ts"
import type { RunTexts } from "../prompt/RunTexts.ts"
import { Settings } from "../Settings.ts"
import { maxQueuedOfWebhook } from "../SettingsConfig.ts"

/** A request for a run. `variables` fill in the template; with `input: "payload"` they hold the whole request. */
export interface RunRequest extends RunTexts {
  readonly variables: Variables
  readonly files?: NonNullable<NewRun["files"]>
  /** From Effect's clock; a wait's deadline is counted from here. */
  readonly received_at: DateTime.Utc
  readonly wait: boolean
  /** Its caller follows the run instead of waiting for its end here. */
  readonly follows?: boolean
  /** Run once the run is accepted, before its end is waited for. */
  readonly onAccepted?: Effect.Effect<unknown>
  readonly idempotency?: {
    readonly key: string
    readonly request_hash: Uint8Array
    /** How long a repeat returns the first run. Default: a day. */
    readonly life?: Duration.Duration
    /** Once the first run is cancelled, a repeat starts a new one. */
    readonly renewsCancelled?: boolean
  }
  /** The key of its thread; absent: it stands alone. */
  readonly thread_key?: string
  /** Its thread is this starter's own; absent: the team's. */
  readonly thread_owner?: string
  /** Its prompt, from a caller who answers the agent's question; absent: the webhook's template makes one. */
  readonly answer?: {
    readonly message: string
    /** Only a repeat of the accepted answer gets a run. */
    readonly isAnswered: boolean
  }
  /** Its window, when it may become the run of an earlier trigger. */
  readonly coalesce?: NonNullable<NewRun["coalesce"]>
  /** When it takes its place in the lane, at the earliest, as its caller wants. */
  readonly not_before?: DateTime.Utc
  /** Why it waits before it takes its place in the lane, besides its window. */
  readonly hold?: NonNullable<NewRun["hold"]>
  /** Who starts it by hand, with a key or in the web UI; absent: strangers, or somebody in Slack. */
  readonly by?: Actor
  /** Who else asked for it, as in `Run`. */
  readonly asked_by?: string
  /** Its prompt has been approved, or needed no approval, in an earlier attempt. */
  readonly isRepeat?: boolean
  readonly singleton?: NonNullable<NewRun["singleton"]>
  /** The version that the prompt was made from, if it is not the current one. `null`: it was made from none. */
  readonly webhook_version?: number | null
  /** The caller's trace, for the prompt. The span of the acceptance replaces it. */
  readonly traceparent?: string
  /** The key of a tool's call, as in `Run`. */
  readonly triggered_by?: string
  /** Where its caller wants the end to be sent. */
  readonly callback_url?: string
  /** The run whose end starts this one, and how many of its chain came before it. */
  readonly chained_from?: RunId
  readonly chain_depth?: number
  /** A person starts it, so a paused webhook may try whether its runs succeed again. */
  readonly isManual?: boolean
}

/** A chat message without its text. */
export type MessageRequest = Pick<
  RunRequest,
  "received_at" | "wait" | "idempotency" | "thread_key" | "triggered_by"
> & {
  /** For a reply: the request to the agent of its run. */
  readonly agent?: AgentRequest
}

/** A run to be accepted. */
export interface Candidate {
  readonly run: NewRun
  /** Only a repeat of an accepted request is answered. This is why a new one is refused. */
  readonly refusedIfNew?: IdempotencyKeyReused | WebhookPaused
  /** Its webhook shares a URL, whose own webhook must not wait for it. */
  readonly isShared?: boolean
}

/** The data for the next attempt of a failed run. */
interface Retry {
  readonly run: WholeRun
  readonly retries: Retries
  /** The attempt's number, from 2 on. */
  readonly attempt: number
  readonly received_at: DateTime.Utc
}

/** Makes runs. A later edit of their webhook changes nothing in them. */
interface Candidates {
  readonly timeoutOf: (webhook: WebhookRow) => Duration.Duration
  readonly ofWebhook: (webhook: WebhookRow, request: RunRequest, rendered: Rendered) => Candidate
  /** A run of this webhook again. Nobody waits for it, and it takes nothing of the webhook's `rate`. */
  readonly ofReplay: (webhook: WebhookRow, request: RunRequest, rendered: Rendered, replay_of: RunId) => Candidate
  /** A further attempt with the same prompt. It always waits for a leader. It is accepted beyond the budget, but not sent. */
  readonly ofRetry: (webhook: WebhookRow, retry: Retry) => Candidate
  /** A chat message; `replay_of`: the one that it repeats. */
  readonly ofMessage: (team: TeamName, message: string, request: MessageRequest, replay_of?: RunId) => Candidate
}

export const make: Effect.Effect<Candidates, never, Settings> = Effect.gen(function* () {
  const settings = yield* Settings
  const clock = yield* Clock.Clock
  const maxQueued = maxQueuedOfWebhook(settings)

  const timeoutOf = (webhook: WebhookRow) =>
    webhook.timeout_seconds === undefined ? settings.timeout : Duration.seconds(webhook.timeout_seconds)

  const maxWorkOf = (webhook: WebhookRow) =>
    webhook.max_work_seconds === undefined ? settings.maxWork : Duration.seconds(webhook.max_work_seconds)

  const budgetOf = ({ max_cost_per_day: cost_usd, max_runs_per_day: runs }: WebhookRow): Budget | undefined =>
    cost_usd === undefined && runs === undefined
      ? undefined
      : {
          ...(runs !== undefined && { runs }),
          ...(cost_usd !== undefined && { cost_usd }),
          unknown_cost_usd: settings.unknownCost
        }

  /** The fields of every new run. */
  const newRun = (
    origin: Pick<NewRun, "source" | "webhook" | "team" | "prompt" | "layout" | "variables">,
    timeout: Duration.Duration,
    maxWork: Duration.Duration,
    {
      received_at,
      thread_key,
      triggered_by,
      wait
    }: Pick<RunRequest, "received_at" | "thread_key" | "triggered_by" | "wait">
  ): NewRun => {
    const now = clock.currentTimeMillisUnsafe()
    return {
      run_id: runIdAt(now),
      ...origin,
      mode: (wait ? "wait" : "async") satisfies RunMode,
      timeout,
      ...(thread_key !== undefined && { thread_key }),
      ...(triggered_by !== undefined && { triggered_by }),
      ...(wait && {
        deadline_at: DateTime.addDuration(received_at, timeout),
        max_work: Duration.max(maxWork, timeout)
      }),
      accepted_at: DateTime.makeUnsafe(now)
    }
  }

  const ofWebhook: Candidates["ofWebhook"] = (webhook, request, rendered) => {
    const { variables, idempotency } = request
    const { id, team, token_hash, version, max_queued = maxQueued, rate } = webhook
    const queues = webhook.when_team_stopped === "queue" && !request.wait
    const budget = budgetOf(webhook)
    const by = { id, token_hash, version, max_queued, ...(rate !== undefined && { rate }), ...(budget && { budget }) }
    const origin = { source: "webhook", webhook: by, team, ...rendered, variables } as const
    const run = newRun(origin, timeoutOf(webhook), maxWorkOf(webhook), request)
    const needs_approval = request.isRepeat !== true && needsApproval(webhook, request.by)
    const asked_by = needs_approval ? askedBy(request) : request.asked_by
    const held_until = request.coalesce?.until ?? request.hold?.until ?? run.accepted_at
    const placed_at = needs_approval ? DateTime.add(held_until, { days: approvalDays }) : held_until
    const asks = { for: "approval", until: placed_at } as const
    const hold = request.hold ?? (needs_approval && request.coalesce === undefined ? asks : undefined)
    const deadline_at = queues && leaderDeadline(webhook, placed_at)
    const retries = request.wait ? undefined : webhook.retries
    const agent = agentRequestOf(webhook)
    return {
      run: {
        ...run,
        ...(deadline_at && { deadline_at }),
        ...(request.workspace_ref !== undefined
          ? { agent: { ...agent, workspace_ref: request.workspace_ref, ...exactly(webhook, request.workspace_ref) } }
          : agent && { agent }),
        ...(request.files && { files: request.files }),
        ...(request.title !== undefined && { title: request.title }),
        ...(request.coalesce && { coalesce: request.coalesce }),
        ...(hold && { hold }),
        ...(needs_approval && { needs_approval }),
        ...(asked_by !== undefined && { asked_by }),
        ...(request.singleton && { singleton: request.singleton }),
        ...(request.webhook_version !== undefined && { webhook_version: request.webhook_version }),
        ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
        ...(request.callback_url !== undefined && { callback_url: request.callback_url }),
        ...chainOf(request),
        ...(retries && {
          attempt: 1,
          max_attempts: retries.max_retries + 1,
          retry_after_seconds: backoffOf(retries, 1)
        }),
        ...(idempotency && { idempotency: keyOf(idempotency, run.accepted_at, webhook) })
      }
    }
  }

  /** A replay takes nothing of its webhook's rate or budget. */
  const ofReplay: Candidates["ofReplay"] = (webhook, request, rendered, replay_of) => {
    const { rate: _, max_cost_per_day: __, max_runs_per_day: ___, ...unlimited } = webhook
    const candidate = ofWebhook(unlimited, request, rendered)
    return { ...candidate, run: { ...candidate.run, replay_of } }
  }

  return {
    timeoutOf,
    ofWebhook,
    ofReplay,
    ofRetry: (webhook, { retries, attempt, run, received_at }) => {
      const {
        callback_url,
        conversation,
        layout,
        run_id,
        singleton_key,
        thread,
        triggered_by,
        variables,
        webhook_version
      } = run
      const request = {
        variables,
        received_at,
        wait: false,
        ...textsOf(run),
        ...filesOf(run),
        ...(thread && { thread_key: thread.key }),
        ...(singleton_key !== undefined && { singleton: { key: singleton_key, on_new: "queue" as const } }),
        ...(triggered_by !== undefined && { triggered_by }),
        ...(callback_url !== undefined && { callback_url }),
        ...chainOf(run),
        webhook_version: webhook_version ?? null,
        isRepeat: true
      }
      const rendered = { prompt: conversation.prompt, ...(layout && { layout }) }
      const candidate = ofReplay(webhook, request, rendered, run_id)
      const { retry_after_seconds: _, ...first } = candidate.run
      return {
        run: {
          ...first,
          attempt,
          ...(attempt <= retries.max_retries && { retry_after_seconds: backoffOf(retries, attempt) }),
          deadline_at: leaderDeadline(webhook, first.accepted_at)
        }
      }
    },
    ofMessage: (team, prompt, { agent, idempotency, ...request }, replay_of) => {
      const run = newRun({ source: "chat", team, prompt, variables: {} }, settings.timeout, settings.maxWork, request)
      return {
        run: {
          ...run,
          ...(agent && { agent }),
          ...(replay_of !== undefined && { replay_of }),
          ...(idempotency && { idempotency: keyOf(idempotency, run.accepted_at) })
        }
      }
    }
  }
})

/** The approval is for this commit, and no other. */
const exactly = ({ approval }: WebhookRow, ref: string) =>
  approval === "required" && isCommit(ref) ? { workspace_exact: true } : {}

const askedBy = ({ asked_by, by }: RunRequest): string | undefined =>
  by === undefined ? asked_by : asked_by === undefined ? by.id : `${asked_by}\n${by.id}`

/** The texts of an earlier run, for one that is about the same: it need not have stored what they name. */
export const textsOf = ({ agent, title }: Pick<WholeRun, "agent" | "title">): RunTexts => ({
  ...(title !== undefined && { title }),
  ...(agent?.workspace_ref !== undefined && { workspace_ref: agent.workspace_ref })
})

/** The files that came with an earlier run, which a retry or replay gets, too. */
export const filesOf = ({ files = [] }: Pick<WholeRun, "files">): Pick<RunRequest, "files"> => {
  const incoming = files.filter(isIncoming)
  return incoming.length === 0 ? {} : { files: incoming }
}

/** A retry or replay keeps the run's place in its chain, so it does not make the chain longer. */
export const chainOf = ({
  chain_depth,
  chained_from
}: Pick<NewRun, "chain_depth" | "chained_from">): Pick<NewRun, "chain_depth" | "chained_from"> => ({
  ...(chained_from !== undefined && { chained_from }),
  ...(chain_depth !== undefined && { chain_depth })
})

/** For how long a repeat of an `Idempotency-Key` returns the first run. */
const idempotencyKeyLife = Duration.hours(24)

/** A webhook that came from another team knows no keys from there: they name runs of that team. */
export const keyOf = (
  { key, life = idempotencyKeyLife, ...how }: NonNullable<RunRequest["idempotency"]>,
  accepted_at: DateTime.Utc,
  { moved_at }: Pick<WebhookRow, "moved_at"> = {}
): NonNullable<NewRun["idempotency"]> => ({
  ...how,
  key: moved_at === undefined ? key : `${key}\n${moved_at.epochMilliseconds}`,
  expires_at: DateTime.addDuration(accepted_at, life)
})

/** Between two attempts, in seconds. */
const longestBackoff = 24 * 3_600

/** How long after the failure of this attempt the next one comes, in seconds. */
const backoffOf = ({ backoff_seconds }: Retries, attempt: number): number =>
  Math.min(backoff_seconds * 2 ** (attempt - 1), longestBackoff)

/** For a run that takes its place in the lane at this time. */
const leaderDeadline = ({ queue_for_seconds = leaderWait }: WebhookRow, placed_at: DateTime.Utc): DateTime.Utc =>
  DateTime.add(placed_at, { seconds: queue_for_seconds })
