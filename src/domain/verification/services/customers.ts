import type { Preset } from "../Description.ts"

/** As Stripe signs, but its events have no ID. */
export const calendly: Preset = {
  label: "Calendly",
  secret: "the webhook subscription's “Signing key”",
  // https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["calendly-webhook-signature"],
      separator: ",",
      prefix: "v1=",
      encoding: "hex",
      timestamp: { at: [{ signature: "t=" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}.{body}"
    }
  ]
}

/** Version 3 of its signatures. A request has several events, whose IDs are not unique. */
export const hubspot: Preset = {
  label: "HubSpot",
  secret: "the app's “Client secret”",
  // https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-hubspot-signature-v3"],
      encoding: "base64",
      timestamp: { at: [{ header: "x-hubspot-request-timestamp" }], unit: "milliseconds", tolerance_seconds: 300 },
      signed: "{method}{url}{body}{timestamp}"
    }
  ]
}

export const zendesk: Preset = {
  label: "Zendesk",
  secret: "the webhook's “Signing secret”",
  // https://developer.zendesk.com/documentation/webhooks/verifying/
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-zendesk-webhook-signature"],
      encoding: "base64",
      timestamp: { at: [{ header: "x-zendesk-webhook-signature-timestamp" }], unit: "iso", tolerance_seconds: 300 },
      signed: "{timestamp}{body}",
      id: [{ header: "x-zendesk-webhook-invocation-id" }]
    }
  ]
}
