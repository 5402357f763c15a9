import { Schema } from "effect"
import { RunId, Uuid, WebhookId } from "../Id.ts"
import { Int } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import { listedBodyBytes, storedBodyBytes } from "./StoredBody.ts"

/** The number and age of stored requests of each kind, per webhook. */
export const storedRequests = { refused: 100, ignored: 20, accepted: 20 } as const
export const storedFor = "24 hours"

export type RequestKind = keyof typeof storedRequests

/** `code` is a problem's code, or instead of one `accepted` or `ignored`. */
export const kindOf = ({ code }: { readonly code: string }): RequestKind =>
  code === "accepted" || code === "ignored" ? code : "refused"

/** A trigger request, or several similar ones. */
export const ReceivedRequest = Schema.Struct({
  request_id: Uuid.annotate({ description: "The request's id, a UUIDv7." }),
  webhook_id: WebhookId,
  team: TeamName.annotate({ description: "The webhook's team then." }),
  received_at: time("When it arrived."),
  status: Int.annotate({ description: "The status of the response." }),
  code: Schema.String.annotate({
    description:
      "The problem's `code`: why it was refused. Of others, `accepted`, or `ignored`: it started no run, and nothing is wrong."
  }),
  detail: Schema.String.annotate({
    description:
      "The problem's `detail`, of up to 300 characters. Of an ignored request, the reason: the part of `accept_if` that does not hold, with the values that it reads if the webhook stores them, or another one."
  }),
  client_address: Schema.String.annotate({ description: "Where it came from." }),
  size: Int.annotate({
    description: "The size of its body in bytes, as announced or as far as it was received."
  }),
  run_id: optional(RunId.annotate({ description: "The run that it started, or became part of." })),
  body: optional(
    Schema.String.annotate({
      description: `The first ${storedBodyBytes} bytes of its body, in a list ${listedBodyBytes}; only if the webhook keeps them. What is not UTF-8 is replaced.`
    })
  ),
  headers: optional(
    Schema.Record(Schema.String, Schema.String).annotate({
      description:
        "Its headers as a template reaches them, kept and not in a list: those that may hold a secret are not there."
    })
  ),
  query: optional(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)])).annotate({
      description: "The parameters of its URL as a template reaches them, kept and not in a list."
    })
  ),
  repeats: Int.annotate({
    description: "How many more got the same code within the same second or two, and are not listed."
  })
}).annotate({ identifier: "ReceivedRequest", description: "A call of a webhook's trigger." })
export type ReceivedRequest = typeof ReceivedRequest.Type
