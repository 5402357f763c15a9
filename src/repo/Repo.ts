/**
 * The rows: teams, webhooks, runs, sessions. One small store for each use; `RepoSql.layer` provides all of
 * them, on PostgreSQL or PGlite.
 *
 * Every effect of every store may fail with `Unavailable` when the database is unreachable, in bounded time, and has
 * then done nothing or everything. Times are the caller's, synchronized through `TimeStore`.
 */
import { type Context, Effect } from "effect"
import { AdminKeyStore } from "./access/AdminKeyStore.ts"
import { ApiKeyStore } from "./access/ApiKeyStore.ts"
import { AuditStore } from "./access/AuditStore.ts"
import { LeaderKeyStore } from "./access/LeaderKeyStore.ts"
import { OwnerStore } from "./access/OwnerStore.ts"
import { ReplyKeyStore } from "./access/ReplyKeyStore.ts"
import { SecretKeyStore } from "./access/SecretKeyStore.ts"
import { SessionStore } from "./access/SessionStore.ts"
import { AlertStore } from "./alert/AlertStore.ts"
import { ChangeFeed } from "./ChangeFeed.ts"
import { DeliveryStore } from "./delivery/DeliveryStore.ts"
import { DestinationStore } from "./delivery/DestinationStore.ts"
import { HistoryStore } from "./history/HistoryStore.ts"
import { RequestStore } from "./history/RequestStore.ts"
import { TeamStore } from "./manage/TeamStore.ts"
import { WebhookStore } from "./manage/WebhookStore.ts"
import { FileStore } from "./run/FileStore.ts"
import { HttpLeaderStore } from "./run/HttpLeaderStore.ts"
import { LaneStore } from "./run/LaneStore.ts"
import { OfferStore } from "./run/OfferStore.ts"
import { ProgressStore } from "./run/ProgressStore.ts"
import { RunStore } from "./run/RunStore.ts"
import { ThreadStore } from "./run/ThreadStore.ts"
import { TimeStore } from "./TimeStore.ts"
import { TransactionStore } from "./TransactionStore.ts"

export type {
  AdminKeyStore,
  AlertStore,
  ApiKeyStore,
  AuditStore,
  ChangeFeed,
  DeliveryStore,
  DestinationStore,
  FileStore,
  HistoryStore,
  HttpLeaderStore,
  LaneStore,
  LeaderKeyStore,
  OfferStore,
  OwnerStore,
  ProgressStore,
  ReplyKeyStore,
  RequestStore,
  RunStore,
  SecretKeyStore,
  SessionStore,
  TeamStore,
  ThreadStore,
  TimeStore,
  TransactionStore,
  WebhookStore
}

/** The tags of all stores. */
export const ports = [
  RunStore,
  TeamStore,
  WebhookStore,
  ThreadStore,
  LaneStore,
  HistoryStore,
  ProgressStore,
  FileStore,
  RequestStore,
  OfferStore,
  DestinationStore,
  DeliveryStore,
  AlertStore,
  AdminKeyStore,
  ReplyKeyStore,
  SecretKeyStore,
  SessionStore,
  LeaderKeyStore,
  ApiKeyStore,
  OwnerStore,
  HttpLeaderStore,
  AuditStore,
  TimeStore,
  TransactionStore,
  ChangeFeed
] as const

/** All stores. */
export type Repo = Context.Service.Identifier<(typeof ports)[number]>

type Methods<Port> = Port extends unknown ? (_: Port) => void : never

/** The methods of all stores. */
type AllMethods = Methods<Context.Service.Shape<(typeof ports)[number]>> extends (_: infer All) => void ? All : never

/** All stores at once, for tests and tools. */
export const Repo: Effect.Effect<AllMethods, never, Repo> = Effect.map(
  Effect.all(ports),
  (services) => Object.assign({}, ...services) as AllMethods
)
