import type { Preset } from "../../Description.ts"

/** A contact point's HMAC signature, which covers the “Timestamp Header” if there is one. Grafana sends no ID. */
export const grafana: Preset = {
  label: "Grafana",
  secret: "the “Secret” under “HMAC Signature” of the contact point",
  documentation:
    "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
  options: ["header", "timestamp_header", "tolerance_seconds", "unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-grafana-alerting-signature"],
      encoding: "hex",
      signed: "{body}",
      signedWithTimestamp: "{timestamp}:{body}"
    }
  ]
}
