/**
 * The rows: teams, webhooks, runs, sessions, the lease. One small port for each use; a driver provides all of them:
 * `RepoSql.layer` on PostgreSQL or PGlite, `RepoMemory.layer` in tests.
 *
 * Every effect of every port may fail with `Unavailable` when the database is unreachable, in bounded time, and has
 * then done nothing or everything. Times are the caller's, synchronized through `TimeStore`; only the lease uses the
 * database's own.
 */
import { Effect } from "effect"
import { AdminKeyStore } from "./AdminKeyStore.ts"
import { AuditStore } from "./AuditStore.ts"
import { ChangeFeed } from "./ChangeFeed.ts"
import { DeliveryStore } from "./DeliveryStore.ts"
import { DestinationStore } from "./DestinationStore.ts"
import { endAndAdmitOf } from "./EndAndAdmit.ts"
import { HistoryStore } from "./HistoryStore.ts"
import { LaneStore } from "./LaneStore.ts"
import { LeaderKeyStore } from "./LeaderKeyStore.ts"
import { LeaseStore } from "./LeaseStore.ts"
import { ProgressStore } from "./ProgressStore.ts"
import { ReplyKeyStore } from "./ReplyKeyStore.ts"
import { RequestStore } from "./RequestStore.ts"
import { RunStore } from "./RunStore.ts"
import { SecretKeyStore } from "./SecretKeyStore.ts"
import { SessionStore } from "./SessionStore.ts"
import { TeamStore } from "./TeamStore.ts"
import { ThreadStore } from "./ThreadStore.ts"
import { TimeStore } from "./TimeStore.ts"
import { WebhookStore } from "./WebhookStore.ts"

/** All ports of the repo. */
export type Repo =
  | TeamStore
  | WebhookStore
  | RunStore
  | ThreadStore
  | LaneStore
  | LeaseStore
  | HistoryStore
  | ProgressStore
  | RequestStore
  | DestinationStore
  | DeliveryStore
  | AdminKeyStore
  | ReplyKeyStore
  | SecretKeyStore
  | SessionStore
  | LeaderKeyStore
  | AuditStore
  | TimeStore
  | ChangeFeed

/** All ports at once, for tests and tools. */
export const Repo = Effect.map(
  Effect.all([
    TeamStore,
    WebhookStore,
    RunStore,
    ThreadStore,
    LaneStore,
    LeaseStore,
    HistoryStore,
    ProgressStore,
    RequestStore,
    DestinationStore,
    DeliveryStore,
    AdminKeyStore,
    ReplyKeyStore,
    SecretKeyStore,
    SessionStore,
    LeaderKeyStore,
    AuditStore,
    TimeStore,
    ChangeFeed
  ]),
  ([
    teams,
    webhooks,
    runs,
    threads,
    lanes,
    lease,
    history,
    progress,
    requests,
    destinations,
    deliveries,
    adminKey,
    replyKey,
    secretKey,
    sessions,
    leaderKeys,
    audit,
    time,
    changes
  ]) => ({
    ...teams,
    ...webhooks,
    ...runs,
    endAndAdmit: endAndAdmitOf(runs, lanes),
    ...threads,
    ...lanes,
    ...lease,
    ...history,
    ...progress,
    ...requests,
    ...destinations,
    ...deliveries,
    ...adminKey,
    ...replyKey,
    ...secretKey,
    ...sessions,
    ...leaderKeys,
    ...audit,
    ...time,
    ...changes
  })
)
