import { fromStrangers, json, type Recipe } from "./Recipe.ts"

export const generic: Recipe = {
  label: "Your own service",
  name: "Events",
  summary: "Accepts requests from your own program, or any other service, with an HMAC over an id and the body.",
  verification: {
    ...{ preset: "hmac", header: "X-Signature-256", prefix: "sha256=" },
    ...{ id_header: "X-Delivery-Id", signed: "{id}.{body}" }
  },
  secret: "made here",
  settings: fromStrangers,
  prompt_template: `This came:

{{payload}}

Say what it means, and do what has to be done.`,
  steps: [
    "POST to the trigger URL: JSON, a form or text.",
    "Give each delivery an id in the header X-Delivery-Id, so that a retry starts no second run.",
    "Send the HMAC-SHA256 of the id, a dot and the body with the secret, in hex, as the header X-Signature-256: sha256=… If your service uses other headers or signs something else, change the verification."
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
    "A service that cannot sign sends the secret itself: verification `header`, `bearer` or `basic`. One that can do neither has the trigger URL alone as its secret.",
    "Name what you need by path, as {{payload.app}}: then only that is stored with the run."
  ],
  sample: {
    headers: { ...json, "x-delivery-id": "01890a5d-ac96-774b-bcce-b302099a8057" },
    payload: { event: "deployed", app: "shop", version: "1.2.3" }
  },
  documentation: "https://www.rfc-editor.org/rfc/rfc2104"
}
