import { Webhook as StandardWebhook } from "standardwebhooks"
import { depthHeader } from "../../../domain/delivery/DestinationKind.ts"
import { asJson, NoAnswer } from "../../egress/Poster.ts"
import type { Sender } from "./Sender.ts"

/** An event, signed as the Standard Webhooks specification has it. */
export const webhook: Sender = ({ at, body, id, run }, { headers, secrets, url }, { send }) =>
  send({
    url,
    body,
    headers: {
      ...asJson,
      ...headers,
      ...(run !== undefined && { [depthHeader]: String((run.chain_depth ?? 0) + 1) }),
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": secrets.map((secret) => new StandardWebhook(secret).sign(id, at, body)).join(" ")
    }
  })

/** The same, to the URL of the run's caller. The destination may have been edited since the run was accepted. */
export const callback: Sender = (message, access, means) =>
  message.target.startsWith(access.url)
    ? webhook(message, { ...access, url: message.target }, means)
    : new NoAnswer({ reason: "the destination no longer allows the run's callback_url", isOfTarget: true })
