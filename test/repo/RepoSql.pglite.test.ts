import { describe } from "@effect/vitest"
import * as PgliteClient from "../../src/repo/database/PgliteClient.ts"
import { repoContract } from "./contract/RepoContract.ts"
import { withSqlRepo } from "./SqlRepo.ts"

describe("RepoSql on PGlite", () => repoContract(withSqlRepo(PgliteClient.layer())))
