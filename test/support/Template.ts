/** The database that tests' databases are copied from: migrated, since migrating one takes four times as long as a copy. */
import { Effect, Layer, Redacted } from "effect"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import { queryPostgres } from "./Postgres.ts"

/** Creates and migrates it on this server. */
export const createTemplate = async (server: string, name: string): Promise<void> => {
  await queryPostgres(server, `CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  await Effect.runPromise(Effect.scoped(Layer.build(PostgresClient.layer({ url: Redacted.make(url.href) }))))
}
