import { SqlClient } from "@effect/sql"
import { Effect, Layer, Option, PubSub } from "effect"
import { type Change, Repo } from "../Repo.ts"
import { parseChanges } from "./Changes.ts"
import { bounded, Notifications } from "./Database.ts"
import { makeAccept } from "./RepoSqlAccept.ts"
import { makeExpire } from "./RepoSqlExpire.ts"
import { makeLease } from "./RepoSqlLease.ts"
import { makeReports } from "./RepoSqlReports.ts"
import { makeRuns } from "./RepoSqlRuns.ts"
import { makeStatistics } from "./RepoSqlStatistics.ts"
import { makeTeams } from "./RepoSqlTeams.ts"
import { makeWebhooks } from "./RepoSqlWebhooks.ts"

/** Wake-ups that a slow reader may be behind; older ones are dropped, and it asks the rows. */
const backlog = 16_384

const makeAdminKey = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const adminKeyHash = bounded(sql<{ readonly hash: Uint8Array }>`
    select hash from webhook_trigger.secrets where name = 'admin_key'`).pipe(
    Effect.map(([row]) => Option.map(Option.fromNullable(row), ({ hash }) => new Uint8Array(hash)))
  )
  const claimAdminKeyHash = (hash: Uint8Array) =>
    bounded(sql`
      insert into webhook_trigger.secrets (name, hash) values ('admin_key', ${hash}) on conflict do nothing`).pipe(
      Effect.zipRight(adminKeyHash),
      Effect.map(Option.getOrElse(() => hash))
    )
  return { adminKeyHash, claimAdminKeyHash }
})

/** The rows in PostgreSQL, or in PGlite: one SQL for both. The tables must be there: `Migrations.migrate`. */
export const layer: Layer.Layer<Repo, never, SqlClient.SqlClient | Notifications> = Layer.scoped(
  Repo,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const changes = yield* Effect.acquireRelease(PubSub.sliding<Change>(backlog), PubSub.shutdown)
    const notifications = yield* Notifications
    yield* notifications.listen((payload) => {
      for (const change of parseChanges(payload)) changes.unsafeOffer(change)
    })
    return Repo.of({
      ...(yield* makeTeams),
      ...(yield* makeWebhooks),
      accept: yield* makeAccept,
      ...(yield* makeRuns),
      ...(yield* makeReports),
      ...(yield* makeStatistics),
      expire: yield* makeExpire,
      ...(yield* makeLease),
      ...(yield* makeAdminKey),
      changes: PubSub.subscribe(changes),
      ping: Effect.asVoid(bounded(sql`select 1`))
    })
  })
)
