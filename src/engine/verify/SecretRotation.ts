import { Effect, Layer, Option } from "effect"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { SecretKeyStore } from "../../repo/access/SecretKeyStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import * as SecretKeyAgreement from "./SecretKeyAgreement.ts"
import * as SecretKeys from "./SecretKeys.ts"

const sealedFields = ["sealed_secret", "old_sealed_secret", "sealed_headers"] as const

/**
 * Runs once at the start, in the background. If this server lacks the key of the secrets in the database, it logs that.
 * Otherwise it encrypts every secret again that another of its keys has encrypted. Then its first key is the
 * database's, which all servers must have. Secrets that no key can decrypt do not change.
 */
export const layer: Layer.Layer<never, never, DestinationStore | SecretKeyStore | WebhookStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const keys = (yield* SecretKeys.SecretKeys).all()
    const agreement = yield* SecretKeyAgreement.make
    const fingerprints = yield* SecretKeyStore
    const store = yield* WebhookStore
    const destinations = yield* DestinationStore

    const sealedAgain = (first: SecretKeys.SecretKey, sealed: string | undefined, id: string) =>
      sealed === undefined || SecretKeys.isSealedWith(first, sealed)
        ? Option.none()
        : Option.map(Option.fromNullishOr(SecretKeys.open(keys, sealed, id)), (secret) =>
            SecretKeys.seal(first, secret, id)
          )

    const changeOf = (
      first: SecretKeys.SecretKey,
      { id, sealed_secret, old_sealed_secret, updated_at }: WebhookRow
    ) => {
      const secret = sealedAgain(first, sealed_secret, id)
      const old = sealedAgain(first, old_sealed_secret, id)
      return Option.isNone(secret) && Option.isNone(old)
        ? undefined
        : {
            updated_at,
            ...(Option.isSome(secret) && { sealed_secret: secret.value }),
            ...(Option.isSome(old) && { old_sealed_secret: old.value })
          }
    }

    /** Edited in between: either encrypted with the first key, or tried again. */
    const rotate = (first: SecretKeys.SecretKey, id: WebhookId) =>
      Effect.flatMap(store.webhookRow(id), (row) => {
        const change = changeOf(first, row)
        return change === undefined
          ? Effect.succeed(0)
          : Effect.as(store.updateWebhook(id, change, { versions: [row.version] }), 1)
      }).pipe(
        Effect.retry({ while: (error) => error._tag === "EditConflict" }),
        untilAvailable,
        Effect.catch(() => Effect.succeed(0))
      )

    /** The same. A server with the older key may have edited in between. */
    const rotateDestination = (first: SecretKeys.SecretKey, { id, webhook_id }: DestinationRow) =>
      Effect.flatMap(destinations.destinationRow(webhook_id ?? null, id), (row) => {
        const sealed = sealedFields.flatMap((field) =>
          Option.match(sealedAgain(first, row[field], id), { onNone: () => [], onSome: (text) => [[field, text]] })
        )
        const isDone = destinations.sealAgain(row, Object.fromEntries(sealed))
        return sealed.length === 0 ? Effect.succeed(0) : Effect.map(isDone, (done) => (done ? 1 : undefined))
      }).pipe(
        Effect.repeat({ until: (count) => count !== undefined }),
        Effect.map((count) => count ?? 0),
        untilAvailable,
        Effect.catchTag("NotFound", () => Effect.succeed(0))
      )

    const withSecrets = Effect.map(untilAvailable(store.webhooks), (webhooks) =>
      webhooks.filter(({ secret_set_at }) => secret_set_at !== undefined)
    )

    /** The one of these keys that has encrypted a secret in the database. */
    const usedKey = Effect.gen(function* () {
      for (const { id } of yield* withSecrets) {
        const row = yield* Effect.option(untilAvailable(store.webhookRow(id)))
        const sealed = Option.getOrUndefined(row)?.sealed_secret
        const used = sealed && keys.find((key) => SecretKeys.open([key], sealed, id) !== undefined)
        if (used) return used
      }
      return undefined
    })

    /** The database's key; for secrets older than its fingerprint, the key that opens them. */
    const fingerprint = Effect.gen(function* () {
      const known = yield* untilAvailable(fingerprints.secretKeyFingerprint)
      if (Option.isSome(known)) return known
      const used = yield* usedKey
      if (used !== undefined) yield* untilAvailable(agreement.claim(used))
      return yield* untilAvailable(fingerprints.secretKeyFingerprint)
    })

    const rotateAll = Effect.fnUntraced(function* (first: SecretKeys.SecretKey) {
      const done = yield* Effect.forEach(yield* withSecrets, ({ id }) => rotate(first, id))
      const rows = yield* untilAvailable(destinations.destinationRows)
      const ofDestinations = yield* Effect.forEach(rows, (row) => rotateDestination(first, row))
      const count = [...done, ...ofDestinations].reduce((sum, one) => sum + one, 0)
      if (count > 0) {
        yield* Effect.logInfo(
          `Encrypted the secrets of ${count} webhooks and destinations again, with the first key of SECRETS_KEY`
        )
      }
    })

    const start = Effect.gen(function* () {
      const before = yield* fingerprint
      const fault = yield* untilAvailable(agreement.fault)
      if (Option.isSome(fault)) return yield* Effect.logError(fault.value)
      const [first] = keys
      if (first === undefined || keys.length === 1 || Option.isNone(before)) return
      yield* rotateAll(first)
      yield* untilAvailable(fingerprints.setSecretKeyFingerprint(SecretKeys.fingerprintOf(first), before))
    })
    yield* Effect.forkScoped(start)
  })
)
