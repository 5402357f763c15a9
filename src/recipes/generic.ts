import { fromStrangers, json, type Recipe } from "./Recipe.ts"

export const generic: Recipe = {
  label: "Your own service",
  name: "Events",
  summary: "Accepts requests from any program, with an HMAC over an ID and the body.",
  starts: ["Every request"],
  verification: {
    ...{ preset: "hmac", header: "X-Signature-256", prefix: "sha256=" },
    ...{ id_header: "X-Delivery-Id", signed: "{id}.{body}" }
  },
  secret: "made here",
  settings: { ...fromStrangers, run_title: "{{payload}}" },
  prompt_template: `This came:

{{payload}}

Say what it means, and do what has to be done.`,
  steps: [
    "POST to the trigger URL: JSON, a form or text.",
    "Give each delivery an ID in the header X-Delivery-Id, so that retries start no second run.",
    "Send the header X-Signature-256: sha256= and the HMAC-SHA256, in hex, of ID, dot and body. For other headers or signatures, change the verification."
  ],
  config: {
    file: "send.sh",
    text: `body='{"event": "deployed", "app": "shop", "version": "1.2.3"}'
id=$(openssl rand -hex 16)
signature=$(printf %s "$id.$body" | openssl dgst -sha256 -hmac 'SECRET' -r | cut -d ' ' -f 1)
curl --fail-with-body 'TRIGGER_URL' -H 'Content-Type: application/json' \\
  -H "X-Signature-256: sha256=$signature" -H "X-Delivery-Id: $id" -d "$body"
`
  },
  notes: [
    "A service that cannot sign can send the secret itself (`header`, `bearer` or `basic`), or use the trigger URL alone.",
    "Name only the values you need, such as {{payload.app}}: only these are stored with the run."
  ],
  sample: {
    headers: { ...json, "x-delivery-id": "01890a5d-ac96-774b-bcce-b302099a8057" },
    payload: { event: "deployed", app: "shop", version: "1.2.3" }
  },
  documentation: "https://www.rfc-editor.org/rfc/rfc2104"
}
