import { describe } from "@effect/vitest"
import * as PgliteClient from "../../src/repo/sql/PgliteClient.ts"
import { contract } from "./contract.ts"
import { sqlRepo } from "./sql.ts"

describe("RepoSql on PGlite", () => {
  contract(sqlRepo(PgliteClient.layer()).withRepo)
})
