/**
 * The repo on PostgreSQL: `RepoSql.layer` on `PostgresClient.layer`, or on a host's own `SqlClient` with
 * `RepoSql.migrate` and `PostgresNotifications.layer`.
 */
export type { PostgresOptions } from "./repo/sql/PostgresClient.ts"
export * as PostgresClient from "./repo/sql/PostgresClient.ts"
export * as PostgresNotifications from "./repo/sql/PostgresNotifications.ts"
export * as RepoSql from "./repo/sql/RepoSql.ts"
