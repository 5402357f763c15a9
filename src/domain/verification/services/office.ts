/** Documents, files and tasks. */
import type { Preset } from "../Description.ts"

/** Asana makes the secret when a webhook is created, and wants it back before it sends events. */
export const asana: Preset = {
  label: "Asana",
  secret: "the `X-Hook-Secret` in the response to the request that created the webhook",
  // https://developers.asana.com/docs/webhooks-guide
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-hook-signature"],
      encoding: "hex",
      signed: "{body}"
    }
  ],
  urlChecks: [
    {
      method: "POST",
      when: [{ at: { header: "x-hook-secret" } }],
      echo: { header: "x-hook-secret" },
      headers: { "x-hook-secret": "{echo}" }
    }
  ]
}

/** A notification says only whose files have changed, so the next one is often the same. */
export const dropbox: Preset = {
  label: "Dropbox",
  secret: "the “App secret”",
  // https://www.dropbox.com/developers/reference/webhooks
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-dropbox-signature"],
      encoding: "hex",
      signed: "{body}",
      unique_for_seconds: 30
    }
  ],
  urlChecks: [{ method: "GET", when: [{ at: { query: "challenge" } }], echo: { query: "challenge" } }]
}

/** Notion sends the secret to the URL first. It is on the page of a webhook that listens. */
export const notion: Preset = {
  label: "Notion",
  secret: "the `verification_token` that Notion has sent to the URL",
  // https://developers.notion.com/reference/webhooks
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-notion-signature"],
      prefix: "sha256=",
      encoding: "hex",
      signed: "{body}",
      id: [{ json: ["id"] }]
    }
  ],
  urlChecks: [{ method: "POST", when: [{ at: { json: ["verification_token"] } }] }]
}
