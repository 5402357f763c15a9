import { Schema } from "effect"

export const webhookPath = Schema.Struct({ id: Schema.String.annotations({ description: "The webhook's id." }) })

export const IfMatch = Schema.Struct({
  "if-match": Schema.optional(
    Schema.String.annotations({
      description: 'The version that the edit is meant for, as in `ETag`: `"7"`. Any other one is refused with 412.'
    })
  )
})
