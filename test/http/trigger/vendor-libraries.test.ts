/**
 * The libraries that services publish for their webhooks sign requests here, or agree with how the tests sign. So the server
 * does not only agree with our reading of their documentation.
 */
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { createRequire } from "node:module"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { PresetName } from "../../../src/domain/verification/Presets.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

// Without types: those of whole APIs make the check of types half as long again.
const load: (library: string) => any = createRequire(import.meta.url)
const Stripe = load("stripe")
const twilio = load("twilio/lib/webhooks/webhooks")
const { LinearWebhookClient } = load("@linear/sdk/webhooks")
const { verifyKey } = load("discord-interactions")
const { Webhook: Svix } = load("svix")

type Headers = Record<string, string>

interface Vendor {
  readonly preset: PresetName
  readonly secret: string
  readonly raw: string
  readonly type?: string
  readonly signed: (raw: string, url: string) => Headers
  /** Where the library only verifies. */
  readonly verifies?: (raw: string, headers: Headers) => Promise<boolean>
  readonly status: number
}

const text = "Grüße, wie geht's? 😀"
const seconds = () => Math.floor(Date.now() / 1000)

const stripe: Vendor = {
  preset: "stripe",
  secret: "whsec_an_example",
  raw: JSON.stringify({ id: "evt_1", object: "event", type: "invoice.paid", text }, undefined, 2),
  signed: (payload) => ({
    "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload, secret: stripe.secret })
  }),
  status: 202
}

const svix: Vendor = {
  preset: "standard-webhooks",
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  raw: JSON.stringify({ type: "invoice.paid", text }),
  signed: (raw) => {
    const at = new Date(seconds() * 1000)
    return {
      "svix-id": "msg_1",
      "svix-timestamp": String(at.getTime() / 1000),
      "svix-signature": new Svix(svix.secret).sign("msg_1", at, raw)
    }
  },
  status: 202
}

const sms: Vendor = {
  preset: "twilio",
  secret: "12345678901234567890123456789012",
  raw: new URLSearchParams([
    ["To", "+15558675310"],
    ["MessageSid", "SM1"],
    ["MediaUrl", "https://example.com/b?c=d&e"],
    ["MediaUrl", "https://example.com/a"],
    ["Body", text],
    ["Empty", ""]
  ]).toString(),
  type: "application/x-www-form-urlencoded",
  signed: (raw, url) => {
    const fields: Record<string, string | Array<string>> = {}
    const form = new URLSearchParams(raw)
    for (const name of new Set(form.keys())) {
      const [first = "", ...rest] = form.getAll(name)
      fields[name] = rest.length === 0 ? first : [first, ...rest]
    }
    return { "x-twilio-signature": twilio.getExpectedTwilioSignature(sms.secret, url, fields) }
  },
  status: 200
}

const { privateKey, publicKey } = generateKeyPairSync("ed25519")

const discord: Vendor = {
  preset: "discord",
  secret: Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url").toString("hex"),
  raw: JSON.stringify({ id: "1", type: 2, data: { name: "ask", text } }),
  signed: (raw) => {
    const at = String(seconds())
    return {
      "x-signature-timestamp": at,
      "x-signature-ed25519": sign(null, Buffer.from(at + raw), privateKey).toString("hex")
    }
  },
  verifies: (raw, headers) =>
    verifyKey(raw, headers["x-signature-ed25519"]!, headers["x-signature-timestamp"]!, discord.secret),
  status: 200
}

const linear: Vendor = {
  preset: "linear",
  secret: "lin_wh_an_example",
  raw: JSON.stringify({ action: "create", type: "Issue", data: { title: text }, webhookTimestamp: Date.now() }),
  signed: (raw) => ({ "linear-signature": createHmac("sha256", linear.secret).update(raw).digest("hex") }),
  verifies: async (raw, headers) => {
    try {
      return new LinearWebhookClient(linear.secret).verify(Buffer.from(raw), headers["linear-signature"]!)
    } catch {
      return false
    }
  },
  status: 202
}

const vendors: { readonly [library: string]: Vendor } = {
  stripe,
  svix,
  twilio: sms,
  "discord-interactions": discord,
  "@linear/sdk": linear
}

describe("a request that the service's own library signs or verifies is accepted, and not with one byte changed", () => {
  for (const [library, vendor] of Object.entries(vendors)) {
    it.live(library, () =>
      Effect.gen(function* () {
        const { preset, raw, secret, signed, status, type = "application/json", verifies } = vendor
        const { history, http, origin, team, webhook } = yield* start()
        const verification = { preset }
        const settings = { input: "payload", verification, secret }
        const hook = yield* webhook(yield* team("vendors"), "{{payload}}", settings)
        const signature = signed(raw, `${origin}${hook.path}`)
        const changed = raw.replace("geht", "gehd")
        expect(changed).not.toBe(raw)
        if (verifies !== undefined) {
          expect(yield* Effect.promise(() => verifies(raw, signature))).toBe(true)
          expect(yield* Effect.promise(() => verifies(changed, signature))).toBe(false)
        }
        const headers = { "content-type": type, ...signature }
        expect(refusal(yield* http("POST", hook.path, { raw: changed, headers }))).toStrictEqual([401, "not_verified"])
        expect(yield* history(hook.id)).toStrictEqual([])
        const answer = yield* http("POST", hook.path, { raw, headers })
        expect(answer.status, answer.text).toBe(status)
        expect(yield* history(hook.id)).toHaveLength(1)
      })
    )
  }
})
