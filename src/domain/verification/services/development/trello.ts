import type { Preset } from "../../Description.ts"

/** It signs the `callbackURL` as it is set there. */
export const trello: Preset = {
  label: "Trello",
  secret: "the API key's “Secret”",
  documentation: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
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
