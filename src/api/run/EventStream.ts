/** How the events of a run are requested, and sent. */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

export const eventStream = "text/event-stream"

export const EventFormat = Schema.Literal("ai-sdk").annotate({
  description: "`ai-sdk`: the UI message stream of the AI SDK instead of this server's own events."
})
export type EventFormat = typeof EventFormat.Type

export const EventQuery = Schema.Struct({ format: Schema.optional(EventFormat) })

export const LastEventId = Schema.Struct({
  "last-event-id": Schema.optional(
    Schema.String.annotate({
      description: "The `id` of the last event that was received. Only later ones are sent."
    })
  )
})

export const EventStream = Schema.String.annotate({
  description: "The events of the run, up to its end."
}).pipe(HttpApiSchema.asText({ contentType: eventStream }))

export const NothingMore = HttpApiSchema.NoContent.annotate({
  description: "`Last-Event-ID` is the id of the run's last event, so the client need not connect again."
})

export const eventsDescription =
  "Server-sent events: `accepted`, `started`, `progress`, then exactly one of `success`, `error`, `timeout` and `cancelled`, whose data is the body of the response to a synchronous trigger. In `progress`, `text` is appended to the text so far, `activity` is what the agent does now, and `restart` makes the text so far void. For people, `steps` is what it has done; one with the `id` of an earlier step updates that. With `Last-Event-ID`, a client continues where it was, on any server."

/** Adds the stream to the responses of an operation that sends it if `Accept` asks for it. */
export const withEventStream = (operation: Record<string, any>): Record<string, any> => {
  const { content, ...ok } = operation.responses[200]
  const stream = { schema: { type: "string", description: "The events of the run, if `Accept` asks for them." } }
  return {
    ...operation,
    responses: { ...operation.responses, 200: { ...ok, content: { ...content, [eventStream]: stream } } }
  }
}
