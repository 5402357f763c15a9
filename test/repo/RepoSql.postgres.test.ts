import { describe } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import { freshDatabase } from "../support/fresh.ts"
import { repoContract } from "./contract/RepoContract.ts"
import { withSqlRepo } from "./SqlRepo.ts"

const client = Layer.unwrap(Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url) })))

describe("RepoSql on PostgreSQL", () => repoContract(withSqlRepo(client)))
