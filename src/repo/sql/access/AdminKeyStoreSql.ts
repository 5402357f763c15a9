import { SqlClient } from "@effect/sql"
import { Effect, Layer, Option } from "effect"
import { AdminKeyStore } from "../../access/AdminKeyStore.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

export const layer: Layer.Layer<AdminKeyStore, never, SqlClient.SqlClient> = Layer.effect(
  AdminKeyStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const adminKeyHash = bounded(sql`select hash from webhook_trigger.secrets where name = 'admin_key'`).pipe(
      Effect.map(([row]) => Option.map(Option.fromNullable(row), (row) => fromRow<{ hash: Uint8Array }>(row).hash)),
      Effect.withSpan("AdminKeyStore.adminKeyHash")
    )

    const claimAdminKeyHash = Effect.fn("AdminKeyStore.claimAdminKeyHash")(function* (hash: Uint8Array) {
      yield* bounded(sql`
        insert into webhook_trigger.secrets (name, hash) values ('admin_key', ${hash}) on conflict do nothing`)
      return Option.getOrElse(yield* adminKeyHash, () => hash)
    })

    return AdminKeyStore.of({ adminKeyHash, claimAdminKeyHash })
  })
)
