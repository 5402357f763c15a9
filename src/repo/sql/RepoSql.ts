import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import type { Repo } from "../Repo.ts"
import * as AdminKeyStoreSql from "./AdminKeyStoreSql.ts"
import * as AuditStoreSql from "./AuditStoreSql.ts"
import * as ChangeFeedSql from "./ChangeFeedSql.ts"
import * as HistoryStoreSql from "./HistoryStoreSql.ts"
import * as LaneStoreSql from "./LaneStoreSql.ts"
import * as LeaseStoreSql from "./LeaseStoreSql.ts"
import type { Notifications } from "./Notifications.ts"
import * as ReplyKeyStoreSql from "./ReplyKeyStoreSql.ts"
import * as RequestStoreSql from "./RequestStoreSql.ts"
import * as RunStoreSql from "./RunStoreSql.ts"
import * as SecretKeyStoreSql from "./SecretKeyStoreSql.ts"
import * as SessionStoreSql from "./SessionStoreSql.ts"
import * as TeamStoreSql from "./TeamStoreSql.ts"
import * as TimeStoreSql from "./TimeStoreSql.ts"
import * as WebhookStoreSql from "./WebhookStoreSql.ts"

export { migrate } from "./Migrations.ts"
export { Notifications } from "./Notifications.ts"
export { SessionLocks } from "./SessionLocks.ts"

/** A client that transforms names, say to camel case, would not find ours. */
const plainNames = Layer.effect(
  SqlClient.SqlClient,
  Effect.map(SqlClient.SqlClient, (sql) => sql.withoutTransforms())
)

/**
 * The rows in PostgreSQL, or in PGlite: one SQL for both. `PostgresClient.layer` and `PgliteClient.layer` give what it needs,
 * with the tables in place.
 *
 * It works as well on a `SqlClient` that the host has already, beside the host's own tables: ours are in the schema
 * `webhook_trigger`. Then the host runs `migrate` first, and chooses how this process learns of changes sooner than by
 * polling, once a second: `PostgresNotifications.layer`, or `Notifications.layerPolling`.
 *
 * ```ts
 * RepoSql.layer.pipe(
 *   Layer.provide(PostgresNotifications.layer({ url })),
 *   Layer.provide(Layer.effectDiscard(RepoSql.migrate)),
 *   Layer.provide(PgClient.layer({ url }))
 * )
 * ```
 *
 * Every statement is given up after 10 seconds. To end it in the database too, set `statement_timeout` and `lock_timeout`
 * on the connections, as `PostgresClient.layer` does.
 */
export const layer: Layer.Layer<Repo, never, SqlClient.SqlClient | Notifications> = Layer.mergeAll(
  TeamStoreSql.layer,
  WebhookStoreSql.layer,
  RunStoreSql.layer,
  LaneStoreSql.layer,
  LeaseStoreSql.layer,
  HistoryStoreSql.layer,
  RequestStoreSql.layer,
  AdminKeyStoreSql.layer,
  ReplyKeyStoreSql.layer,
  SecretKeyStoreSql.layer,
  SessionStoreSql.layer,
  AuditStoreSql.layer,
  TimeStoreSql.layer,
  ChangeFeedSql.layer
).pipe(Layer.provide(plainNames))
