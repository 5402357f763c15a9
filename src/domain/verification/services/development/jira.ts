import type { Preset } from "../../Description.ts"

/** Administrators' webhooks with a secret are signed, as in WebSub. */
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
