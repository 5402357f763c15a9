import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** The SHA-256 of the generated admin key. */
export class AdminKeyStore extends Context.Service<AdminKeyStore>()("webhook-trigger/AdminKeyStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const adminKeyHash = bounded(sql`select hash from webhook_trigger.secrets where name = 'admin_key'`).pipe(
      Effect.map(([row]) => Option.map(Option.fromNullishOr(row), (row) => fromRow<{ hash: Uint8Array }>(row).hash)),
      Effect.withSpan("AdminKeyStore.adminKeyHash")
    )

    /**
     * Stores the first caller's hash, and returns it to all. `show` runs for the caller whose hash is stored, and only if it
     * succeeds is the hash committed. Other callers wait for that.
     */
    const claimAdminKeyHash = <E>(hash: Uint8Array, show: Effect.Effect<void, E>) =>
      Effect.gen(function* () {
        const stored = yield* sql`
          insert into webhook_trigger.secrets (name, hash) values ('admin_key', ${hash})
          on conflict do nothing returning name`
        // A hash whose key was shown is committed, unless the database fails then.
        if (stored.length > 0) yield* Effect.uninterruptible(show)
      }).pipe(
        sql.withTransaction,
        bounded,
        Effect.andThen(adminKeyHash),
        Effect.map(Option.getOrElse(() => hash)),
        Effect.withSpan("AdminKeyStore.claimAdminKeyHash")
      )

    return { adminKeyHash, claimAdminKeyHash }
  })
}) {
  static readonly layer = Layer.effect(AdminKeyStore, AdminKeyStore.make)
}
