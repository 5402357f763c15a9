/** For services without a preset. */
import type { Preset } from "./Description.ts"

export const hmac: Preset = {
  label: "HMAC",
  secret: "the shared secret",
  documentation: "https://www.rfc-editor.org/rfc/rfc2104",
  required: ["header"],
  options: [
    "algorithm",
    "encoding",
    "prefix",
    "separator",
    "key_encoding",
    "signed",
    "timestamp_header",
    "timestamp_prefix",
    "timestamp_unit",
    "tolerance_seconds",
    "id_header",
    "unique_for_seconds"
  ],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: [],
      encoding: "hex",
      signed: "{body}",
      signedWithTimestamp: "{timestamp}.{body}"
    }
  ]
}

export const bearer: Preset = {
  label: "Bearer token",
  secret: "the token",
  documentation: "https://www.rfc-editor.org/rfc/rfc6750#section-2.1",
  options: ["id_header"],
  descriptions: [{ scheme: "header", headers: ["authorization"], prefix: "Bearer " }]
}

export const basic: Preset = {
  label: "User and password",
  secret: "the password",
  documentation: "https://www.rfc-editor.org/rfc/rfc7617",
  required: ["username"],
  options: ["id_header"],
  descriptions: [{ scheme: "basic" }]
}

export const header: Preset = {
  label: "Secret in a header",
  secret: "the header's value",
  documentation: "https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2",
  required: ["header"],
  options: ["prefix", "id_header"],
  descriptions: [{ scheme: "header", headers: [] }]
}
