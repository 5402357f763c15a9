import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Notifications } from "./database/Notifications.ts"
import { ports, type Repo } from "./Repo.ts"
import * as RunStoreSql from "./run/RunStoreSql.ts"

export { migrate } from "./database/Migrations.ts"
export { Notifications } from "./database/Notifications.ts"

/** All but `RunStore`, whose statements are apart from it. */
const [, ...stores] = ports

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
  RunStoreSql.layer,
  ...stores.map(({ layer }) => layer)
).pipe(Layer.provide(plainNames))
