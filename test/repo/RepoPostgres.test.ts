import { describe } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as PostgresClient from "../../src/repo/sql/PostgresClient.ts"
import { freshDatabase } from "../support/fresh.ts"
import { contract } from "./contract.ts"
import { sqlRepo } from "./sql.ts"

const client = Layer.unwrapScoped(Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url) })))

describe("RepoSql on PostgreSQL", () => {
  contract(sqlRepo(client).withRepo)
})
