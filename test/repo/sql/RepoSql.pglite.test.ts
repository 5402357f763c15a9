import { describe } from "@effect/vitest"
import { repoContract } from "../../../src/repo/contract/RepoContract.ts"
import * as PgliteClient from "../../../src/repo/sql/database/PgliteClient.ts"
import { withSqlRepo } from "./SqlRepo.ts"

describe("RepoSql on PGlite", () => repoContract(withSqlRepo(PgliteClient.layer()), { optional: true }))
