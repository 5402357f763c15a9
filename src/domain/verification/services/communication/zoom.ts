import type { Preset } from "../../Description.ts"

export const zoom: Preset = {
  label: "Zoom",
  secret: "the app's “Secret Token”",
  documentation: "https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events",
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-zm-signature"],
      prefix: "v0=",
      encoding: "hex",
      timestamp: { at: [{ header: "x-zm-request-timestamp" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "v0:{timestamp}:{body}",
      id: [{ header: "x-zm-trackingid" }],
      handshakes: [
        {
          when: { at: { json: ["event"] }, is: "endpoint.url_validation" },
          echo: { json: ["payload", "plainToken"] },
          json: { plainToken: "{echo}", encryptedToken: "{hmac}" }
        }
      ]
    }
  ]
}
