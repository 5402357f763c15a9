import { DateTime, Effect } from "effect"
import type { ApiKeyRow } from "../../domain/access/ApiKey.ts"
import type { LeaderKeyRow } from "../../domain/access/LeaderKey.ts"
import type { SessionRow } from "../../domain/access/Session.ts"
import type { AlertRule } from "../../domain/alert/AlertRule.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import { NotFound } from "../../domain/Errors.ts"
import type {
  AlertId,
  AlertRuleId,
  ApiKeyId,
  DeliveryId,
  DestinationId,
  LeaderKeyId,
  RunId,
  SessionId,
  ThreadId,
  WebhookId
} from "../../domain/Id.ts"
import type { TemplateVersion } from "../../domain/prompt/TemplateVersion.ts"
import type { ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import type { RunRow } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { summarize } from "../../domain/run/RunSummary.ts"
import { storable } from "../../domain/StorableText.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { StoredAlert } from "../alert/AlertChanges.ts"
import { type Change, makeChangeListeners } from "../ChangeFeed.ts"
import type { IgnoredCount } from "../history/RequestStore.ts"
import type { Term } from "../run/LeaseStore.ts"
import type { NewRun } from "../run/RunStore.ts"
import { makeAuditMemory } from "./access/AuditStoreMemory.ts"
import type { StoredDelivery } from "./delivery/DeliveryStoreMemory.ts"
import type { StoredHttpLeader } from "./run/HttpLeaderStoreMemory.ts"

export interface StoredTeam {
  readonly created_at: DateTime.Utc
  readonly paused_at?: DateTime.Utc
  readonly resumed_at?: DateTime.Utc
}

export interface StoredRun {
  row: RunRow
  /** The order of acceptance. */
  readonly seq: number
  /** The run's place in its lane; absent while its window is open. */
  place?: number
  readonly idempotency: NewRun["idempotency"]
  layout: NewRun["layout"]
}

/** Triggers with this key join its run. */
export interface OpenWindow {
  readonly run_id: RunId
  readonly until: DateTime.Utc
}

export interface StoredThread {
  readonly id: ThreadId
  readonly team: TeamName
  readonly key: string
  readonly created_at: DateTime.Utc
  readonly last_run_at: DateTime.Utc
  readonly ended_at?: DateTime.Utc
}

/** The rows that the stores share, and operations of more than one store. */
export const makeTables = Effect.map(Effect.clock, (clock) => {
  const listeners = makeChangeListeners()
  const teams = new Map<TeamName, StoredTeam>()
  const tables = {
    databaseTime: Effect.sync(() => clock.unsafeCurrentTimeMillis()),
    audit: makeAuditMemory(),
    listen: listeners.listen,
    /** Called after the step that made the change, because a listener may change rows itself. */
    notify: (change: Change): void => queueMicrotask(() => listeners.notify([change])),

    teams,
    /** In the order of their creation. */
    leaderKeys: new Map<LeaderKeyId, LeaderKeyRow>(),
    apiKeys: new Map<ApiKeyId, ApiKeyRow>(),
    sessions: new Map<SessionId, SessionRow>(),
    httpLeaders: new Map<TeamName, StoredHttpLeader>(),
    webhooks: new Map<WebhookId, WebhookRow>(),
    /** Newest first. */
    templates: new Map<WebhookId, ReadonlyArray<TemplateVersion>>(),
    /** Runs taken from a webhook's bucket (`RunStore.accept`), at a time. */
    taken: new Map<WebhookId, { readonly runs: number; readonly at: number }>(),
    /** The runs of a webhook's budget on its day, which begins then. */
    days: new Map<WebhookId, { readonly begin: number; readonly runs: number }>(),
    windows: new Map<string, OpenWindow>(),
    /** The idempotency keys of the triggers that joined an earlier run. */
    joinedKeys: new Map<string, NonNullable<NewRun["idempotency"]> & { readonly run_id: RunId }>(),
    threads: new Map<ThreadId, StoredThread>(),
    runs: [] as ReadonlyArray<StoredRun>,
    /** The last number given to an acceptance or a place. */
    drawn: 0,
    requests: [] as ReadonlyArray<ReceivedRequest>,
    ignored: [] as ReadonlyArray<IgnoredCount>,
    destinations: new Map<DestinationId, DestinationRow>(),
    deliveries: [] as Array<StoredDelivery>,
    /** By destination and target. */
    comments: new Map<string, string>(),
    /** The only delivery that a destination with comments makes, until then. */
    writers: new Map<DestinationId, { readonly id: DeliveryId; readonly until: DateTime.Utc }>(),
    /** In the order of their creation. */
    alertRules: new Map<AlertRuleId, AlertRule>(),
    alerts: new Map<AlertId, StoredAlert>(),
    /** When a server began to measure alerts, in milliseconds since the epoch. */
    measuredAt: Number.NEGATIVE_INFINITY,
    lease: { term: 0, expiresAt: 0, holder: undefined } as {
      term: Term
      expiresAt: number
      holder: string | undefined
    },

    isPaused: (team: TeamName): boolean => teams.get(team)?.paused_at !== undefined,
    where: (matches: (row: RunRow) => boolean) => tables.runs.filter(({ row }) => matches(row)),
    find: (id: string) => tables.runs.find(({ row }) => row.run_id === id),
    remove: (matches: (row: RunRow) => boolean): number => {
      const before = tables.runs.length
      tables.runs = tables.where((row) => !matches(row))
      for (const id of tables.threads.keys()) {
        if (tables.where((row) => row.thread_id === id).length === 0) tables.threads.delete(id)
      }
      return before - tables.runs.length
    },
    holds: (term: Term): boolean => tables.lease.holder !== undefined && term === tables.lease.term
  }
  return tables
})
export type Tables = Effect.Effect.Success<typeof makeTables>

export const change = (run: StoredRun, fields: Partial<RunRow>): void => {
  run.row = { ...run.row, ...fields }
}

export const orNotFound = <A, B>(find: () => A | undefined, use: (found: A) => B): Effect.Effect<B, NotFound> =>
  Effect.suspend(() => {
    const found = find()
    return found === undefined ? new NotFound() : Effect.succeed(use(found))
  })

export const summaries = (runs: ReadonlyArray<StoredRun>) => runs.map(({ row }) => summarize(row))

export const byPlace = (a: StoredRun, b: StoredRun): number => a.place! - b.place!

/** Even while its window is open. */
export const isWaiting = (row: RunRow): boolean => row.status === "queued" && row.admitted_at === undefined

export const isInLane = (run: StoredRun): boolean => isWaiting(run.row) && run.place !== undefined

export const isInFlight = (row: RunRow): boolean => !isFinal(row.status) && row.admitted_at !== undefined

export const isAfter = DateTime.greaterThan

export const clockFrom = ({ mode, timeout_ms }: RunRow, at: DateTime.Utc): Pick<RunRow, "deadline_at"> =>
  mode === "async" ? { deadline_at: DateTime.add(at, { millis: timeout_ms }) } : {}

/** A run's deadline from its admission on. */
export const withDeadline = (row: RunRow, admittedAt: DateTime.Utc): Pick<RunRow, "deadline_at"> =>
  row.deadline_at === undefined || row.admitted_at === undefined ? clockFrom(row, admittedAt) : {}

export const storableFields = <A extends object>(fields: A): A =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? storable(value) : value])
  ) as A

export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.from(a).equals(b)

export const isOpenedBy = (webhook: WebhookRow, hash: TokenHash, now: DateTime.Utc): boolean => {
  const { old_token_hash, old_token_valid_until, token_hash } = webhook
  if (sameBytes(token_hash, hash)) return true
  return (
    old_token_hash !== undefined &&
    old_token_valid_until !== undefined &&
    sameBytes(old_token_hash, hash) &&
    isAfter(old_token_valid_until, now)
  )
}

export const by =
  <A>(key: (a: A) => string) =>
  (a: A, b: A): number =>
    key(a) < key(b) ? -1 : 1
