import { Schema } from "effect"

export const RunSource = Schema.Literal("webhook", "chat").annotations({
  description: "Whether a webhook was triggered or a chat message was written to the team."
})
export type RunSource = typeof RunSource.Type
