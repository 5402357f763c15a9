import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** The fingerprint of the key that encrypts webhooks' secrets, the same for all servers of this database. */
export class SecretKeyStore extends Context.Service<SecretKeyStore>()("webhook-trigger/SecretKeyStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const secretKeyFingerprint = bounded(sql`select hash from webhook_trigger.secrets where name = 'secret_key'`).pipe(
      Effect.map(([row]) => Option.map(Option.fromNullishOr(row), (row) => fromRow<{ hash: Uint8Array }>(row).hash)),
      Effect.withSpan("SecretKeyStore.secretKeyFingerprint")
    )

    /** Sets the fingerprint if it is still `from`, or if there is none. Returns the one stored afterwards. */
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

    return { secretKeyFingerprint, setSecretKeyFingerprint }
  })
}) {
  static readonly layer = Layer.effect(SecretKeyStore, SecretKeyStore.make)
}
