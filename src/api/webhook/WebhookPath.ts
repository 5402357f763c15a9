import { Schema } from "effect"

export const webhookPath = Schema.Struct({ id: Schema.String.annotate({ description: "The webhook's id." }) })

export const IfMatch = Schema.Struct({
  "if-match": Schema.optional(
    Schema.String.annotate({
      description: 'The expected version, as in `ETag`: `"7"`. If the webhook has another version, the response is 412.'
    })
  )
})
