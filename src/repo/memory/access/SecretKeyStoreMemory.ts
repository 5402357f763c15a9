import { type Context, Effect, Option } from "effect"
import { SecretKeyStore } from "../../access/SecretKeyStore.ts"
import { sameBytes } from "../Tables.ts"

export const makeSecretKeyStore = (): Context.Tag.Service<SecretKeyStore> => {
  let secretKey = Option.none<Uint8Array>()
  return SecretKeyStore.of({
    secretKeyFingerprint: Effect.sync(() => secretKey),
    setSecretKeyFingerprint: (to, from) =>
      Effect.sync(() => {
        const isFrom = Option.isNone(from)
          ? Option.isNone(secretKey)
          : Option.exists(secretKey, (known) => sameBytes(known, from.value))
        if (isFrom) secretKey = Option.some(to)
        return Option.getOrElse(secretKey, () => to)
      })
  })
}
