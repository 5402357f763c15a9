import type { Preset } from "./Description.ts"

/** Signed are the webhooks of administrators that have a secret, as in WebSub. */
export const jira: Preset = {
  label: "Jira",
  secret: "the webhook's “Secret”",
  documentation: "https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks",
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
