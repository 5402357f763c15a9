import { Effect, Layer, Option, PubSub } from "effect"
import { type Change, Repo } from "../Repo.ts"
import { makeDefinitions } from "./RepoMemoryDefinitions.ts"
import { makeLease } from "./RepoMemoryLease.ts"
import { limitsOf, makeRuns } from "./RepoMemoryRuns.ts"
import { RunTable } from "./RepoMemoryRunTable.ts"
import { makeStatistics } from "./RepoMemoryStatistics.ts"
import type { Tables } from "./RepoMemoryTables.ts"

/** Wake-ups that a slow reader may be behind; older ones are dropped, and it asks the rows. */
const backlog = 16_384

/** The rows in this process's memory: for tests, and gone with the process. */
export const layer: Layer.Layer<Repo> = Layer.scoped(
  Repo,
  Effect.gen(function* () {
    const changes = yield* Effect.acquireRelease(PubSub.sliding<Change>(backlog), PubSub.shutdown)
    const tables: Tables = {
      teams: new Map(),
      webhooks: new Map(),
      runs: new RunTable(),
      publish: (change) => changes.unsafeOffer(change)
    }
    let adminKey: Option.Option<Uint8Array> = Option.none()
    return Repo.of({
      ...makeDefinitions(tables),
      ...makeRuns(tables),
      ...makeStatistics(tables),
      ...makeLease(tables),
      limits: limitsOf(tables),
      adminKeyHash: Effect.sync(() => adminKey),
      claimAdminKeyHash: (hash) =>
        Effect.sync(() => {
          const stands = Option.getOrElse(adminKey, () => hash)
          adminKey = Option.some(stands)
          return stands
        }),
      changes: PubSub.subscribe(changes),
      ping: Effect.void
    })
  })
)
