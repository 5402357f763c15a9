import { Webhook as StandardWebhook } from "standardwebhooks"
import { asJson, type Sender } from "./Sender.ts"

/** An event, signed as the Standard Webhooks specification has it. */
export const webhook: Sender = ({ at, body, id }, { headers, secrets, url }, send) =>
  send({
    url,
    body,
    headers: {
      ...asJson,
      ...headers,
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": secrets.map((secret) => new StandardWebhook(secret).sign(id, at, body)).join(" ")
    }
  })
