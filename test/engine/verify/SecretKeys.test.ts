import { DateTime, Effect, Layer, Option, Redacted } from "effect"
import { makeWebhookId } from "../../../src/domain/Id.ts"
import * as SecretKeyAgreement from "../../../src/engine/verify/SecretKeyAgreement.ts"
import {
  fingerprintOf,
  isSealedWith,
  keyId,
  keyText,
  makeKey,
  open,
  parseKey,
  type SecretKey,
  SecretKeys,
  seal
} from "../../../src/engine/verify/SecretKeys.ts"
import * as SecretRotation from "../../../src/engine/verify/SecretRotation.ts"
import * as WebhookSecrets from "../../../src/engine/verify/WebhookSecrets.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { layerRepo } from "../../../src/testing.ts"
import { newDestination } from "../../repo/contract/delivery/fixtures.ts"
import { createWebhook } from "../../repo/contract/fixtures.ts"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"

const secret = Redacted.make("It's a Secret to Everybody")

describe("a secret at rest", () => {
  it.effect("is read with its key and for its webhook only, and not when it was changed", function* () {
    const [key, other] = [yield* makeKey, yield* makeKey]
    const [id, another] = [yield* makeWebhookId, yield* makeWebhookId]
    const sealed = seal(key, secret, id)
    expect(Redacted.value(open([other, key], sealed, id)!)).toBe(Redacted.value(secret))
    expect(sealed.startsWith(`${keyId(key)}.`)).toBe(true)
    expect(seal(key, secret, id)).not.toBe(sealed)
    expect(open([other], sealed, id)).toBeUndefined()
    expect(open([key], sealed, another)).toBeUndefined()
    const at = sealed.length - 10
    const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`
    for (const wrong of [changed, `${keyId(key)}.`, `${keyId(key)}.AAAA`, "", sealed.slice(9)]) {
      expect(open([key], wrong, id), wrong).toBeUndefined()
    }
  })

  it.effect("has a key of 32 bytes, in base64 or as hexadecimal digits, that no error shows", function* () {
    const key = yield* makeKey
    const hex = Buffer.from(Redacted.value(key)).toString("hex")
    for (const text of [keyText(key), keyText(key).replace("=", ""), hex, hex.toUpperCase()]) {
      expect(keyId(parseKey(text)!)).toBe(keyId(key))
    }
    for (const text of ["", "short", `${hex}00`, keyText(key).slice(4), `${keyText(key)} `, "x".repeat(64)]) {
      expect(parseKey(text), text).toBeUndefined()
    }
    expect(JSON.stringify({ key })).not.toContain(hex.slice(0, 8))
  })
})

/** What a server with these keys does at its start. */
const started = (keys: ReadonlyArray<SecretKey>) =>
  Layer.build(Layer.provide(SecretRotation.layer, SecretKeys.layer(keys)))

/** Why a server with these keys is not ready. */
const faultWith = (...keys: ReadonlyArray<SecretKey>) =>
  Effect.flatMap(SecretKeyAgreement.make, ({ fault }) => fault).pipe(Effect.provide(SecretKeys.layer(keys)))

const isReadyWith = (...keys: ReadonlyArray<SecretKey>) => Effect.map(faultWith(...keys), Option.isNone)

it.live(
  "a server with a new key encrypts with it again what the old one has encrypted, and then it is the key of all",
  () =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const [old, fresh] = [yield* makeKey, yield* makeKey]
      const plain = yield* createWebhook()
      const { id } = yield* createWebhook({ verification: { preset: "github" }, secret_set_at: yield* DateTime.now })
      const fields = { sealed_secret: seal(old, secret, id), old_sealed_secret: seal(old, Redacted.make("before"), id) }
      yield* repo.updateWebhook(id, { ...fields, updated_at: yield* DateTime.now })
      const { version } = yield* repo.webhookRow(id)
      const destination = yield* newDestination(id)
      const sealedFor = (text: string) => seal(old, Redacted.make(text), destination.id)
      yield* repo.updateDestination(id, destination.id, {
        ...{ sealed_secret: sealedFor("signing"), sealed_headers: sealedFor("headers") },
        updated_at: yield* DateTime.now
      })

      // One that is started with another key first takes nothing from the others.
      yield* started([fresh])
      yield* started([old])
      yield* untilEffect(
        "the old key is that of all",
        Effect.map(isReadyWith(fresh), (isReady) => !isReady)
      )
      expect(yield* isReadyWith(old)).toBe(true)
      expect((yield* repo.webhookRow(id)).version).toBe(version)
      // Those that know both may be started one after the other, whichever is first; one with the new key alone has to wait.
      expect(yield* isReadyWith(old, fresh)).toBe(true)
      expect(yield* isReadyWith(fresh, old)).toBe(true)
      expect(yield* isReadyWith(fresh)).toBe(false)

      yield* started([fresh, old])
      yield* untilEffect("the new key is that of all", isReadyWith(fresh))
      const row = yield* repo.webhookRow(id)
      expect(isSealedWith(fresh, row.sealed_secret!)).toBe(true)
      expect(Redacted.value(open([fresh], row.sealed_secret!, id)!)).toBe(Redacted.value(secret))
      expect(Redacted.value(open([fresh], row.old_sealed_secret!, id)!)).toBe("before")
      expect((yield* repo.webhookRow(plain.id)).version).toBe(1)
      const sealed = yield* repo.destinationRow(id, destination.id)
      expect(Redacted.value(open([fresh], sealed.sealed_secret, destination.id)!)).toBe("signing")
      expect(Redacted.value(open([fresh], sealed.sealed_headers!, destination.id)!)).toBe("headers")
      expect(yield* isReadyWith(old, fresh)).toBe(true)
      expect(yield* isReadyWith(old)).toBe(false)
    }).pipe(Effect.provide(layerRepo))
)

it.effect(
  "servers may have any key until one encrypts a secret; then those without its key say so, and change nothing",
  () =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const [key, another, third] = [yield* makeKey, yield* makeKey, yield* makeKey]
      const store = (secret: string) =>
        Effect.flatMap(WebhookSecrets.make, ({ draft }) =>
          Effect.flatMap(Effect.all([makeWebhookId, DateTime.now]), ([id, now]) =>
            draft(id, { verification: { preset: "github" }, secret }, now)
          )
        )
      for (const keys of [[], [another], [another, third], [key]]) {
        yield* started(keys)
        yield* Effect.yieldNow
        expect(yield* isReadyWith(...keys)).toBe(true)
      }
      expect(yield* repo.secretKeyFingerprint).toEqual(Option.none())
      yield* Effect.provide(store("the first secret"), SecretKeys.layer([key, third]))
      expect(yield* Effect.flip(Effect.provide(store("another"), SecretKeys.layer([another])))).toMatchObject({
        faults: [{ pointer: "/secret", detail: expect.stringContaining(`the key ${keyId(key)}`) }]
      })
      for (const keys of [[another], [another, third], []]) {
        expect(Option.getOrThrow(yield* faultWith(...keys))).toContain(`the key ${keyId(key)}`)
        yield* started(keys)
      }
      yield* Effect.yieldNow
      expect(Buffer.from(Option.getOrThrow(yield* repo.secretKeyFingerprint))).toEqual(Buffer.from(fingerprintOf(key)))
    }).pipe(Effect.provide(layerRepo))
)
