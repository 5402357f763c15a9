/**
 * The repo on PostgreSQL: `RepoSql.layer` on `PostgresClient.layer`, or on a host's own `SqlClient` with
 * `RepoSql.migrate` and `PostgresNotifications.layer`.
 */
export type { PostgresOptions } from "./repo/sql/database/PostgresClient.ts"
export * as PostgresClient from "./repo/sql/database/PostgresClient.ts"
export * as PostgresNotifications from "./repo/sql/database/PostgresNotifications.ts"
export * as RepoSql from "./repo/sql/RepoSql.ts"
