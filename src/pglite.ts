/** The repo on PGlite, PostgreSQL in this process: `RepoSql.layer` on `PgliteClient.layer`. */
export { DataFolderInUse, DataFolderUnusable } from "./repo/database/DataFolder.ts"
export type { PgliteOptions } from "./repo/database/PgliteClient.ts"
export * as PgliteClient from "./repo/database/PgliteClient.ts"
export * as RepoSql from "./repo/RepoSql.ts"
