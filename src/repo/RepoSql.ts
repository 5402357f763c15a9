import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
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
import type { Notifications } from "./database/Notifications.ts"
import { DeliveryStore } from "./delivery/DeliveryStore.ts"
import { DestinationStore } from "./delivery/DestinationStore.ts"
import { HistoryStore } from "./history/HistoryStore.ts"
import { RequestStore } from "./history/RequestStore.ts"
import { TeamStore } from "./manage/TeamStore.ts"
import { WebhookStore } from "./manage/WebhookStore.ts"
import type { Repo } from "./Repo.ts"
import { FileStore } from "./run/FileStore.ts"
import { HttpLeaderStore } from "./run/HttpLeaderStore.ts"
import { LaneStore } from "./run/LaneStore.ts"
import { OfferStore } from "./run/OfferStore.ts"
import { ProgressStore } from "./run/ProgressStore.ts"
import * as RunStoreSql from "./run/RunStoreSql.ts"
import { ThreadStore } from "./run/ThreadStore.ts"
import { TimeStore } from "./TimeStore.ts"

export { migrate } from "./database/Migrations.ts"
export { Notifications } from "./database/Notifications.ts"

/** A client that transforms names, for instance to camel case, would not find our columns. */
const plainNames = Layer.effect(
  SqlClient.SqlClient,
  Effect.map(SqlClient.SqlClient, (sql) => sql.withoutTransforms())
)

/**
 * The rows in PostgreSQL or PGlite, with the same SQL. `PostgresClient.layer` and `PgliteClient.layer` provide what it
 * needs, with the tables in place.
 *
 * It also works on the host's `SqlClient`, beside the host's own tables: ours are in the schema `webhook_trigger`. Then
 * the host runs `migrate` first, and chooses how this process learns of changes sooner than by polling once a second:
 * `PostgresNotifications.layer`, or `Notifications.layerPolling`.
 *
 * ```ts
 * RepoSql.layer.pipe(
 *   Layer.provide(PostgresNotifications.layer({ url })),
 *   Layer.provide(Layer.effectDiscard(RepoSql.migrate)),
 *   Layer.provide(PgClient.layer({ url }))
 * )
 * ```
 *
 * Every statement is given up after 10 seconds. To end it in the database too, set `statement_timeout` and
 * `lock_timeout` on the connections, as `PostgresClient.layer` does.
 */
export const layer: Layer.Layer<Repo, never, SqlClient.SqlClient | Notifications> = Layer.mergeAll(
  TeamStore.layer,
  WebhookStore.layer,
  RunStoreSql.layer,
  ThreadStore.layer,
  LaneStore.layer,
  HistoryStore.layer,
  ProgressStore.layer,
  FileStore.layer,
  RequestStore.layer,
  OfferStore.layer,
  DestinationStore.layer,
  DeliveryStore.layer,
  AlertStore.layer,
  AdminKeyStore.layer,
  ReplyKeyStore.layer,
  SecretKeyStore.layer,
  SessionStore.layer,
  LeaderKeyStore.layer,
  ApiKeyStore.layer,
  OwnerStore.layer,
  HttpLeaderStore.layer,
  AuditStore.layer,
  TimeStore.layer,
  ChangeFeed.layer
).pipe(Layer.provide(plainNames))
