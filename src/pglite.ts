/** The repo on PGlite, PostgreSQL in this process: `RepoSql.layer` on `PgliteClient.layer`. */
export { DataFolderInUse, DataFolderUnusable } from "./repo/sql/database/DataFolder.ts"
export type { PgliteOptions } from "./repo/sql/database/PgliteClient.ts"
export * as PgliteClient from "./repo/sql/database/PgliteClient.ts"
export * as RepoSql from "./repo/sql/RepoSql.ts"
