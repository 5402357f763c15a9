import type { Preset } from "../Description.ts"
import { symmetric } from "../standardWebhooks.ts"

/** A delivery that is redelivered by hand keeps its `X-GitHub-Delivery`. */
export const github: Preset = {
  label: "GitHub",
  secret: "the webhook's “Secret”",
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-hub-signature-256"],
      prefix: "sha256=",
      encoding: "hex",
      signed: "{body}",
      id: [{ header: "x-github-delivery" }],
      handshakes: [{ when: { at: { header: "x-github-event" }, is: "ping" } }]
    }
  ]
}

/** A retried delivery keeps its `Idempotency-Key`. */
const id = [{ header: "webhook-id" }, { header: "idempotency-key" }, { header: "x-gitlab-event-uuid" }]

export const gitlab: Preset = {
  label: "GitLab",
  secret: "the webhook's “Signing token” (`whsec_…`), or its “Secret token”",
  // https://docs.gitlab.com/user/project/integrations/webhooks/
  descriptions: [
    { ...symmetric, for: { secret: "whsec_" } },
    { scheme: "header", headers: ["x-gitlab-token"], id }
  ]
}

/** Administrators' webhooks with a secret are signed, as in WebSub. */
export const jira: Preset = {
  label: "Jira",
  secret: "the webhook's “Secret”",
  // https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-hub-signature"],
      prefix: "sha256=",
      encoding: "hex",
      signed: "{body}",
      id: [{ header: "x-atlassian-webhook-identifier" }]
    }
  ]
}

/** The time of sending is in the body, so it is signed. */
export const linear: Preset = {
  label: "Linear",
  secret: "the webhook's “Signing secret”",
  // https://linear.app/developers/webhooks
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["linear-signature"],
      encoding: "hex",
      timestamp: { at: [{ json: ["webhookTimestamp"] }], unit: "milliseconds", tolerance_seconds: 60 },
      signed: "{body}",
      id: [{ header: "linear-delivery" }]
    }
  ]
}

/** It signs the `callbackURL` as it is set there. */
export const trello: Preset = {
  label: "Trello",
  secret: "the API key's “Secret”",
  // https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha1",
      key: "text",
      headers: ["x-trello-webhook"],
      encoding: "base64",
      signed: "{body}{url}",
      id: [{ json: ["action", "id"] }]
    }
  ],
  urlChecks: [{ method: "HEAD" }]
}
