/**
 * The rows: teams, webhooks, runs, sessions, and who may send. One port for each use, so that each stays small; a driver
 * gives all of them: `RepoSql.layer` on PostgreSQL or PGlite, `RepoMemory.layer` in tests.
 *
 * Every effect of every port may fail with `Unavailable` when the database is out of reach, within a bounded time, and has
 * then done nothing or everything. Times are the caller's, synchronized through `TimeStore`; only the lease's are the
 * database's own.
 */
import { Effect } from "effect"
import { AdminKeyStore } from "./AdminKeyStore.ts"
import { AuditStore } from "./AuditStore.ts"
import { ChangeFeed } from "./ChangeFeed.ts"
import { endAndAdmitOf } from "./EndAndAdmit.ts"
import { HistoryStore } from "./HistoryStore.ts"
import { LaneStore } from "./LaneStore.ts"
import { LeaseStore } from "./LeaseStore.ts"
import { ReplyKeyStore } from "./ReplyKeyStore.ts"
import { RequestStore } from "./RequestStore.ts"
import { RunStore } from "./RunStore.ts"
import { SecretKeyStore } from "./SecretKeyStore.ts"
import { SessionStore } from "./SessionStore.ts"
import { TeamStore } from "./TeamStore.ts"
import { TimeStore } from "./TimeStore.ts"
import { WebhookStore } from "./WebhookStore.ts"

/** All ports of the repo. */
export type Repo =
  | TeamStore
  | WebhookStore
  | RunStore
  | LaneStore
  | LeaseStore
  | HistoryStore
  | RequestStore
  | AdminKeyStore
  | ReplyKeyStore
  | SecretKeyStore
  | SessionStore
  | AuditStore
  | TimeStore
  | ChangeFeed

/** All ports at once, for tests and tools. */
export const Repo = Effect.map(
  Effect.all([
    TeamStore,
    WebhookStore,
    RunStore,
    LaneStore,
    LeaseStore,
    HistoryStore,
    RequestStore,
    AdminKeyStore,
    ReplyKeyStore,
    SecretKeyStore,
    SessionStore,
    AuditStore,
    TimeStore,
    ChangeFeed
  ]),
  ([
    teams,
    webhooks,
    runs,
    lanes,
    lease,
    history,
    requests,
    adminKey,
    replyKey,
    secretKey,
    sessions,
    audit,
    time,
    changes
  ]) => ({
    ...teams,
    ...webhooks,
    ...runs,
    endAndAdmit: endAndAdmitOf(runs, lanes),
    ...lanes,
    ...lease,
    ...history,
    ...requests,
    ...adminKey,
    ...replyKey,
    ...secretKey,
    ...sessions,
    ...audit,
    ...time,
    ...changes
  })
)
