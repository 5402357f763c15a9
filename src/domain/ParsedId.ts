/** Ids and names as a caller wrote them. Text that cannot be one names nothing: `NotFound`. */
import { Effect, Schema } from "effect"
import { NotFound } from "./Errors.ts"
import { RunId, SessionId, WebhookId } from "./Id.ts"
import { TeamName } from "./Team.ts"

const parsedAs = <A extends string>(schema: Schema.Schema<A, string>) => {
  const is = Schema.is(schema)
  return (text: string): Effect.Effect<A, NotFound> => (is(text) ? Effect.succeed(text) : new NotFound())
}

/** UUIDs are written in either case. */
const inLowerCase =
  <A>(parse: (text: string) => A) =>
  (text: string): A =>
    parse(text.toLowerCase())

export const webhookIdOf = inLowerCase(parsedAs(WebhookId))
export const runIdOf = inLowerCase(parsedAs(RunId))
export const sessionIdOf = inLowerCase(parsedAs(SessionId))
export const requestIdOf = inLowerCase(parsedAs(Schema.UUID))
export const teamNameOf = parsedAs(TeamName)
