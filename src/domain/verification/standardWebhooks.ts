import type { Ed25519, Hmac, Preset } from "./Description.ts"

/** Services that use Svix may name the headers after it. */
const signed = {
  headers: ["webhook-signature", "svix-signature"],
  separator: " ",
  encoding: "base64",
  timestamp: {
    at: [{ header: "webhook-timestamp" }, { header: "svix-timestamp" }],
    unit: "seconds",
    tolerance_seconds: 300
  },
  signed: "{id}.{timestamp}.{body}",
  id: [{ header: "webhook-id" }, { header: "svix-id" }]
} as const

/** With a shared secret. */
export const symmetric: Hmac = {
  scheme: "hmac",
  algorithm: "sha256",
  key: { base64After: "whsec_" },
  prefix: "v1,",
  ...signed
}

/** With the sender's public key. */
const asymmetric: Ed25519 = { scheme: "ed25519", key: { base64After: "whpk_" }, prefix: "v1a,", ...signed }

/** Used by Svix, OpenAI and many others. */
export const standardWebhooks: Preset = {
  label: "Standard Webhooks",
  secret: "the signing secret (`whsec_…`), or the sender's public key (`whpk_…`)",
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
  options: ["tolerance_seconds"],
  descriptions: [{ ...asymmetric, for: { secret: "whpk_" } }, symmetric]
}
