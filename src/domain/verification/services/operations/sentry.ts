import type { Preset } from "../../Description.ts"

/** `Sentry-Hook-Timestamp` is not signed, so it is ignored. */
export const sentry: Preset = {
  label: "Sentry",
  secret: "the integration's “Client Secret”",
  documentation: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["sentry-hook-signature"],
      encoding: "hex",
      signed: "{body}",
      id: [{ header: "request-id" }]
    }
  ]
}
