/**
 * The repo on PostgreSQL: `RepoSql.layer` on `PostgresClient.layer`, or on a host's own `SqlClient` with
 * `RepoSql.migrate` and `PostgresNotifications.layer`.
 */
export type { PostgresOptions } from "./repo/database/PostgresClient.ts"
export * as PostgresClient from "./repo/database/PostgresClient.ts"
export * as PostgresNotifications from "./repo/database/PostgresNotifications.ts"
export * as RepoSql from "./repo/RepoSql.ts"
