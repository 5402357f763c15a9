import { type Context, Effect, Option } from "effect"
import { AdminKeyStore } from "../../access/AdminKeyStore.ts"

export const makeAdminKeyStore = (): Context.Tag.Service<AdminKeyStore> => {
  let adminKey = Option.none<Uint8Array>()
  return AdminKeyStore.of({
    adminKeyHash: Effect.sync(() => adminKey),
    claimAdminKeyHash: (hash) =>
      Effect.sync(() => {
        adminKey = Option.orElse(adminKey, () => Option.some(hash))
        return Option.getOrThrow(adminKey)
      })
  })
}
