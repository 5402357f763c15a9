/** Requests as services send them: a recipe's sample, or another payload, signed with the webhook's secret. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { Webhook as StandardWebhook } from "standardwebhooks"
import type { Recipe } from "../../src/recipes/Recipe.ts"
import { signedBySns } from "./SnsSender.ts"

export interface Sent {
  readonly raw: string
  readonly headers: Record<string, string>
}

const now = () => Math.floor(Date.now() / 1000)
/** HMAC-SHA256 in hex. */
const hmac = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex")

const standard = (raw: string, secret: string, id = "msg_p5jXN8AQM9LWM0D4loKWxJek") => {
  const at = new Date(now() * 1000)
  return {
    "webhook-id": id,
    "webhook-timestamp": String(at.getTime() / 1000),
    "webhook-signature": new StandardWebhook(secret).sign(id, at, raw)
  }
}

const inBase64 = (secret: string | Buffer, text: string, algorithm = "sha256") =>
  createHmac(algorithm, secret).update(text).digest("base64")

/** The private keys, by the public keys that the webhooks have. */
const discordKeys = new Map<string, KeyObject>()

const discordKey = (): string => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const key = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url").toString("hex")
  discordKeys.set(key, privateKey)
  return key
}

const signedByDiscord = (secret: string, text: string): string => {
  const { privateKey } = generateKeyPairSync("ed25519")
  return sign(null, Buffer.from(text), discordKeys.get(secret) ?? privateKey).toString("hex")
}

/** The names and values, sorted by name, as Twilio signs them. */
const fieldsOf = (raw: string): string =>
  [...new URLSearchParams(raw)]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flat()
    .join("")

/** The headers with which a service shows that it knows the secret. */
const proof = ({ sample, verification }: Recipe, raw: string, secret: string, url: string): Record<string, string> => {
  const { preset } = verification
  const time = now()
  switch (preset) {
    case "github":
      return { "x-hub-signature-256": `sha256=${hmac(secret, raw)}` }
    case "gitlab":
      return secret.startsWith("whsec_") ? standard(raw, secret) : { "x-gitlab-token": secret }
    case "slack":
      return {
        "x-slack-request-timestamp": String(time),
        "x-slack-signature": `v0=${hmac(secret, `v0:${time}:${raw}`)}`
      }
    case "stripe":
      return { "stripe-signature": `t=${time},v1=${hmac(secret, `${time}.${raw}`)},v0=${"0".repeat(64)}` }
    case "sentry":
      return { "sentry-hook-signature": hmac(secret, raw) }
    case "linear":
      return { "linear-signature": hmac(secret, raw) }
    case "pagerduty":
      return { "x-pagerduty-signature": `v1=${hmac("the secret before", raw)},v1=${hmac(secret, raw)}` }
    case "jira":
      return { "x-hub-signature": `sha256=${hmac(secret, raw)}` }
    case "grafana":
      return {
        "x-grafana-alerting-timestamp": String(time),
        "x-grafana-alerting-signature": hmac(secret, `${time}:${raw}`)
      }
    case "alertmanager":
    case "bearer":
    case "basic": {
      const { username } = verification
      const isBearer = username === undefined
      const credentials = isBearer ? secret : Buffer.from(`${username}:${secret}`).toString("base64")
      return { authorization: `${isBearer ? "Bearer" : "Basic"} ${credentials}` }
    }
    case "standard-webhooks":
      return standard(raw, secret)
    case "hmac":
      return {
        [verification.header!]: `${verification.prefix ?? ""}${hmac(secret, `${sample.headers["x-delivery-id"]}.${raw}`)}`
      }
    case "trello":
      return {
        "x-trello-webhook": createHmac("sha1", secret)
          .update(raw + url)
          .digest("base64")
      }
    case "meta":
      return { "x-hub-signature-256": `sha256=${hmac(secret, raw)}` }
    case "event-grid":
      return { [verification.header!]: secret }
    // Services without a recipe.
    case "asana":
    case "dropbox":
    case "google":
    case "jwt":
    case "lark":
    case "notion":
    case "okta":
    case "public-key":
      return {}
    // In the body.
    case "aws-sns":
    case "microsoft-graph":
      return {}
    case "calendly":
    case "mux":
      return {
        [`${preset}-${preset === "mux" ? "" : "webhook-"}signature`]: `t=${time},v1=${hmac(secret, `${time}.${raw}`)}`
      }
    case "discord":
      return {
        "x-signature-timestamp": String(time),
        "x-signature-ed25519": signedByDiscord(secret, `${time}${raw}`)
      }
    case "hubspot": {
      const at = String(Date.now())
      return {
        "x-hubspot-request-timestamp": at,
        "x-hubspot-signature-v3": inBase64(secret, `POST${url}${raw}${at}`)
      }
    }
    case "paddle":
      return { "paddle-signature": `ts=${time};h1=${hmac(secret, `${time}:${raw}`)}` }
    case "square":
      return { "x-square-hmacsha256-signature": inBase64(secret, url + raw) }
    case "teams":
      return { authorization: `HMAC ${inBase64(Buffer.from(secret, "base64"), raw)}` }
    case "twilio":
      return { "x-twilio-signature": inBase64(secret, url + fieldsOf(raw), "sha1") }
    case "twitch": {
      const at = new Date().toISOString()
      const id = sample.headers["twitch-eventsub-message-id"]
      return {
        "twitch-eventsub-message-timestamp": at,
        "twitch-eventsub-message-signature": `sha256=${hmac(secret, `${id}${at}${raw}`)}`
      }
    }
    case "zendesk": {
      const at = new Date().toISOString()
      return {
        "x-zendesk-webhook-signature-timestamp": at,
        "x-zendesk-webhook-signature": inBase64(secret, at + raw)
      }
    }
    case "zoom":
      return {
        "x-zm-request-timestamp": String(time),
        "x-zm-signature": `v0=${hmac(secret, `v0:${time}:${raw}`)}`
      }
    case "header":
      return { [verification.header!]: `${verification.prefix ?? ""}${secret}` }
  }
}

/** A secret that the service could have. */
export const secretFor = ({ verification: { preset } }: Recipe): string => {
  switch (preset) {
    case "standard-webhooks":
      return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    case "aws-sns":
      return "arn:aws:sns:eu-central-1:123456789012:alarms"
    case "discord":
      return discordKey()
    case "teams":
      return Buffer.from("It's a Secret to Everybody").toString("base64")
    default:
      return "It's a Secret to Everybody"
  }
}

/** The payload with what its service puts there: the time, the secret or a signature. */
const current = ({ verification: { preset } }: Recipe, secret: string, payload: Recipe["sample"]["payload"]) => {
  switch (preset) {
    case "linear":
      return { ...payload, webhookTimestamp: Date.now() }
    case "microsoft-graph": {
      const { value = [{}] } = payload as { readonly value?: ReadonlyArray<object> }
      return { ...payload, value: value.map((each) => ({ ...each, clientState: secret })) }
    }
    case "aws-sns":
      return signedBySns({ ...payload, TopicArn: secret })
    default:
      return payload
  }
}

const bodyOf = ({ headers, payload }: Recipe["sample"]): string =>
  headers["content-type"]?.includes("form") === true
    ? new URLSearchParams(payload as Record<string, string>).toString()
    : JSON.stringify(payload)

/** The body as the service sends it, to this URL if it signs that. */
export const sentAs = (recipe: Recipe, secret: string, raw: string, url = ""): Sent => ({
  raw,
  headers: { ...recipe.sample.headers, ...proof(recipe, raw, secret, url) }
})

/** The recipe's sample as the service sends it now; with another payload, that. */
export const requestOf = (
  recipe: Recipe,
  secret = secretFor(recipe),
  payload = recipe.sample.payload,
  url = ""
): Sent => sentAs(recipe, secret, bodyOf({ ...recipe.sample, payload: current(recipe, secret, payload) }), url)

/** What a webhook for the service is created with. */
export const draftOf = ({ name, prompt_template, settings, verification }: Recipe, secret: string) => ({
  ...{ name, prompt_template, verification, secret },
  ...settings
})
