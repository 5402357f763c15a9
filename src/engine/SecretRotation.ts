import { Effect, Layer, Option } from "effect"
import type { WebhookId } from "../domain/Id.ts"
import type { WebhookRow } from "../domain/Webhook.ts"
import { WebhookStore } from "../repo/WebhookStore.ts"
import { untilAvailable } from "./Availability.ts"
import * as SecretKeys from "./SecretKeys.ts"

/**
 * Encrypts again, with the first key, whatever another of several keys has encrypted: once, at the start, beside everything
 * else. With one key there is nothing to do. What no key can decrypt stays as it is.
 */
export const layer: Layer.Layer<never, never, WebhookStore> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const keys = (yield* SecretKeys.SecretKeys).all()
    const [first] = keys
    const store = yield* WebhookStore
    if (first === undefined || keys.length === 1) return

    const sealedAgain = (sealed: string | undefined, id: WebhookId): Option.Option<string> =>
      sealed === undefined || SecretKeys.isSealedWith(first, sealed)
        ? Option.none()
        : Option.map(Option.fromNullable(SecretKeys.open(keys, sealed, id)), (secret) =>
            SecretKeys.seal(first, secret, id)
          )

    const changeOf = ({ id, sealed_secret, old_sealed_secret, updated_at }: WebhookRow) => {
      const secret = sealedAgain(sealed_secret, id)
      const old = sealedAgain(old_sealed_secret, id)
      return Option.isNone(secret) && Option.isNone(old)
        ? undefined
        : {
            updated_at,
            ...(Option.isSome(secret) && { sealed_secret: secret.value }),
            ...(Option.isSome(old) && { old_sealed_secret: old.value })
          }
    }

    /** Edited in between: the other one has encrypted with the first key, or it is tried again. */
    const rotate = (id: WebhookId) =>
      Effect.flatMap(store.webhookRow(id), (row) => {
        const change = changeOf(row)
        return change === undefined
          ? Effect.succeed(0)
          : Effect.as(store.updateWebhook(id, change, { versions: [row.version] }), 1)
      }).pipe(
        Effect.retry({ while: (error) => error._tag === "ChangedMeanwhile" }),
        untilAvailable,
        Effect.catchAll(() => Effect.succeed(0))
      )

    const all = untilAvailable(store.webhooks).pipe(
      Effect.flatMap((webhooks) =>
        Effect.forEach(
          webhooks.filter(({ secret_set_at }) => secret_set_at !== undefined),
          ({ id }) => rotate(id)
        )
      ),
      Effect.tap((done) => {
        const count = done.reduce((sum, one) => sum + one, 0)
        return count > 0
          ? Effect.logInfo(`Encrypted the secrets of ${count} webhooks again, with the first key of SECRETS_KEY`)
          : Effect.void
      })
    )
    yield* Effect.forkScoped(all)
  })
)
