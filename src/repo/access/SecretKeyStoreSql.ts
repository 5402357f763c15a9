import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { SecretKeyStore } from "./SecretKeyStore.ts"

export const layer: Layer.Layer<SecretKeyStore, never, SqlClient.SqlClient> = Layer.effect(
  SecretKeyStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const secretKeyFingerprint = bounded(sql`select hash from webhook_trigger.secrets where name = 'secret_key'`).pipe(
      Effect.map(([row]) => Option.map(Option.fromNullishOr(row), (row) => fromRow<{ hash: Uint8Array }>(row).hash)),
      Effect.withSpan("SecretKeyStore.secretKeyFingerprint")
    )

    const setSecretKeyFingerprint = Effect.fn("SecretKeyStore.setSecretKeyFingerprint")(function* (
      to: Uint8Array,
      from: Option.Option<Uint8Array>
    ) {
      yield* bounded(
        Option.match(from, {
          onNone: () => sql`
            insert into webhook_trigger.secrets (name, hash) values ('secret_key', ${to}) on conflict do nothing`,
          onSome: (from) => sql`
            update webhook_trigger.secrets set hash = ${to} where name = 'secret_key' and hash = ${from}`
        })
      )
      return Option.getOrElse(yield* secretKeyFingerprint, () => to)
    })

    return SecretKeyStore.of({ secretKeyFingerprint, setSecretKeyFingerprint })
  })
)
