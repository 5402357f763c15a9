/** Encrypts what is stored for later use and never shown again. */
import { Effect, Option, Redacted } from "effect"
import { Invalid } from "../../domain/Errors.ts"
import * as SecretKeyAgreement from "./SecretKeyAgreement.ts"
import * as SecretKeys from "./SecretKeys.ts"

const noKey =
  "The server has no key to encrypt it with: set SECRETS_KEY to the same value on all servers (docs/use/verification.md, Secrets at rest)."

export const make = Effect.gen(function* () {
  const keys = yield* SecretKeys.SecretKeys
  const agreement = yield* SecretKeyAgreement.make

  /**
   * The text as it is stored with that record.
   *
   * @param pointer the field that an error names
   */
  const seal = Effect.fnUntraced(function* (id: string, text: string, pointer: string) {
    const notStored = (why: string) => new Invalid({ faults: [{ pointer, detail: `cannot be stored. ${why}` }] })
    const refuse = Option.match({ onNone: () => Effect.void, onSome: notStored })
    yield* refuse(yield* agreement.fault)
    const key = yield* keys.first
    if (key === undefined) return yield* notStored(noKey)
    yield* refuse(yield* agreement.claim(key))
    return SecretKeys.seal(key, Redacted.make(text), id)
  })

  /** `undefined`: this server has no key that opens it. */
  const open = (id: string, sealed: string): string | undefined => {
    const text = SecretKeys.open(keys.all(), sealed, id)
    return text && Redacted.value(text)
  }

  return { seal, open }
})
