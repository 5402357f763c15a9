import type { Preset } from "../../Description.ts"

/** Version 3 of its signatures. A request has several events, whose IDs are not unique. */
export const hubspot: Preset = {
  label: "HubSpot",
  secret: "the app's “Client secret”",
  documentation: "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
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
