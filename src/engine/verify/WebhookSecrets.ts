/** The secrets of a webhook when it is created or edited: texts come in, encrypted ones go out. */
import { type DateTime, Effect } from "effect"
import { Invalid, type Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { describe } from "../../domain/verification/Presets.ts"
import { secretHintOf } from "../../domain/webhook/SecretHint.ts"
import type { WebhookEdit, WebhookRow } from "../../domain/webhook/Webhook.ts"
import { noSecrets, type SecretChange } from "../../repo/manage/WebhookStore.ts"
import * as Sealing from "./Sealing.ts"
import { faultOf } from "./Signing.ts"

/** The fields of a draft or an edit that concern secrets. */
type Wish = Pick<WebhookEdit, "verification" | "secret" | "keep_old_secret">

type Stored = Partial<
  Pick<WebhookRow, "verification" | "sealed_secret" | "secret_hint" | "old_sealed_secret" | "old_secret_hint">
>

/** Whether the change concerns the secrets. */
export const isAbout = ({ verification, secret, keep_old_secret }: Wish): boolean =>
  verification !== undefined || secret !== undefined || keep_old_secret !== undefined

const invalid = (pointer: string, detail: string) => new Invalid({ faults: [{ pointer, detail }] })

export const make = Effect.gen(function* () {
  const { open, seal } = yield* Sealing.make

  /** As text; `undefined`: there is none, or no key that opens it. */
  const stored = (id: WebhookId, { sealed_secret }: Stored): string | undefined =>
    sealed_secret === undefined ? undefined : open(id, sealed_secret)

  /** The secret fields after a change of `before`, a stored webhook. */
  const change = Effect.fnUntraced(function* (
    id: WebhookId,
    wish: Wish,
    before: Stored,
    now: DateTime.Utc
  ): Effect.fn.Return<SecretChange, Invalid | Unavailable> {
    const verification = wish.verification === undefined ? before.verification : (wish.verification ?? undefined)
    if (verification === undefined) {
      if (wish.secret !== undefined) return yield* invalid("/verification", "is required by `secret`")
      return noSecrets
    }
    const secret = wish.secret ?? stored(id, before)
    if (wish.secret === undefined && before.sealed_secret === undefined) {
      return yield* invalid("/secret", "is required by `verification`")
    }
    const fault = secret === undefined ? undefined : faultOf(describe(verification, secret), secret)
    if (fault !== undefined) return yield* invalid("/secret", `${fault}, for the preset ${verification.preset}`)
    if (wish.secret === undefined) {
      return {
        ...(wish.verification !== undefined && { verified_at: null }),
        ...(wish.keep_old_secret === false && { old_sealed_secret: null, old_secret_hint: null })
      }
    }
    const keepsOld = wish.keep_old_secret === true
    return {
      sealed_secret: yield* seal(id, wish.secret, "/secret"),
      secret_hint: secretHintOf(wish.secret),
      secret_set_at: now,
      verified_at: null,
      old_sealed_secret: (keepsOld ? before.sealed_secret : undefined) ?? null,
      old_secret_hint: (keepsOld ? before.secret_hint : undefined) ?? null
    }
  })

  /** The same for a new webhook. */
  const draft = (id: WebhookId, wish: Wish, now: DateTime.Utc) =>
    Effect.map(change(id, wish, {}, now), ({ sealed_secret, secret_hint, secret_set_at }) =>
      sealed_secret && secret_hint && secret_set_at ? { sealed_secret, secret_hint, secret_set_at } : {}
    )

  return { change, draft, stored }
})
