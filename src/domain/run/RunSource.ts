import { Schema } from "effect"

export const RunSource = Schema.Literals(["webhook", "chat"]).annotate({
  description: "Whether a webhook was triggered or a chat message was written to the team."
})
export type RunSource = typeof RunSource.Type
