/** The repo drivers and their settings. */
import { resolve } from "node:path"
import { Layer, Option } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { DataFolderInUse, DataFolderUnusable } from "../../repo/database/DataFolder.ts"
import * as PgliteClient from "../../repo/database/PgliteClient.ts"
import { addressFault } from "../../repo/database/PostgresAddress.ts"
import * as PostgresClient from "../../repo/database/PostgresClient.ts"
import type { Repo } from "../../repo/Repo.ts"
import * as RepoSql from "../../repo/RepoSql.ts"
import { address, optional, secret, text, type Values, withDefault } from "../../settings/EnvironmentVariable.ts"
import type { SettingFault } from "../environment/LoadSettings.ts"
import type { Driver } from "./Driver.ts"

export type RepoDriver = Driver<Repo, DataFolderInUse | DataFolderUnusable | Unavailable>

const postgresAddress = address(["postgres:", "postgresql:"], "postgres://user:password@db.example.com:5432/webhooks")

export const settings = {
  /** Default: PGlite in `dataDir`. */
  databaseUrl: optional("DATABASE_URL", secret(postgresAddress)),
  dataDir: withDefault("DATA_DIR", text("a folder"), "data")
}

type Settings = Values<typeof settings>

const postgres = ({ databaseUrl }: Settings) =>
  Option.map(
    databaseUrl,
    (url): RepoDriver => ({ name: "postgresql", layer: Layer.provide(RepoSql.layer, PostgresClient.layer({ url })) })
  )

const pglite = ({ dataDir }: Settings): RepoDriver => ({
  name: "embedded",
  layer: Layer.provide(RepoSql.layer, PgliteClient.layer({ folder: dataDir })),
  embedded: { place: `the database is embedded, in the folder ${resolve(dataDir)}`, replacedBy: "DATABASE_URL" }
})

/** Parameters of the URL with which no connection can be opened. */
export const conflicts = ({ databaseUrl }: Pick<Settings, "databaseUrl">): ReadonlyArray<SettingFault> =>
  Option.toArray(Option.flatMapNullishOr(databaseUrl, addressFault)).map((accepts) => ({
    name: "DATABASE_URL",
    accepts
  }))

/** The first driver with settings, or the embedded one. */
export const choose = (settings: Settings): RepoDriver => Option.getOrElse(postgres(settings), () => pglite(settings))
