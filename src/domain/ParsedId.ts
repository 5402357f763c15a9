/** Parses IDs and names from callers. Malformed ones name nothing: `NotFound`. */
import { Effect, Schema } from "effect"
import { NotFound } from "./Errors.ts"
import {
  AlertRuleId,
  ApiKeyId,
  DeliveryId,
  DestinationId,
  LeaderKeyId,
  RunId,
  SessionId,
  ThreadId,
  Uuid,
  WebhookId
} from "./Id.ts"
import { TeamName } from "./Team.ts"

const parsedAs = <A extends string>(schema: Schema.Codec<A, string>) => {
  const is = Schema.is(schema)
  return (text: string): Effect.Effect<A, NotFound> => (is(text) ? Effect.succeed(text) : new NotFound())
}

/** UUIDs may be in either case. */
const inLowerCase =
  <A>(parse: (text: string) => A) =>
  (text: string): A =>
    parse(text.toLowerCase())

export const webhookIdOf = inLowerCase(parsedAs(WebhookId))
export const runIdOf = inLowerCase(parsedAs(RunId))
export const threadIdOf = inLowerCase(parsedAs(ThreadId))
export const destinationIdOf = inLowerCase(parsedAs(DestinationId))
export const deliveryIdOf = inLowerCase(parsedAs(DeliveryId))
export const alertRuleIdOf = inLowerCase(parsedAs(AlertRuleId))
export const sessionIdOf = inLowerCase(parsedAs(SessionId))
export const leaderKeyIdOf = inLowerCase(parsedAs(LeaderKeyId))
export const apiKeyIdOf = inLowerCase(parsedAs(ApiKeyId))
export const requestIdOf = inLowerCase(parsedAs(Uuid))
export const teamNameOf = parsedAs(TeamName)
