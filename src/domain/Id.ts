import { Clock, Effect, Schema } from "effect"
import { v7 } from "uuid"
import { randomBytes } from "./Random.ts"

/** A UUIDv7 (RFC 9562): 128 bits, the first 48 the milliseconds of its making, so ids sort by age. */
const Uuid = Schema.UUID

export const WebhookId = Uuid.pipe(Schema.brand("WebhookId")).annotations({
  description: "The webhook's id, a UUIDv7."
})
export type WebhookId = typeof WebhookId.Type

/** The identity of one execution; also the `message_id` of its prompt on the bus. */
export const RunId = Uuid.pipe(Schema.brand("RunId")).annotations({ description: "The run's id, a UUIDv7." })
export type RunId = typeof RunId.Type

export const SessionId = Uuid.pipe(Schema.brand("SessionId")).annotations({
  description: "The session's id, a UUIDv7; not the secret in its cookie."
})
export type SessionId = typeof SessionId.Type
export const AuditEventId = Uuid.pipe(Schema.brand("AuditEventId")).annotations({
  description: "The event's id, a UUIDv7."
})
export type AuditEventId = typeof AuditEventId.Type

export const makeWebhookId: Effect.Effect<WebhookId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as WebhookId
)

/** The id of a run that begins at that time, in milliseconds since the epoch. */
export const runIdAt = (msecs: number): RunId => v7({ msecs, random: randomBytes(16) }) as RunId

export const makeRunId: Effect.Effect<RunId> = Effect.map(Clock.currentTimeMillis, runIdAt)

export const makeSessionId: Effect.Effect<SessionId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as SessionId
)
/** The id of an event at that time, in milliseconds since the epoch. */
export const auditEventIdAt = (msecs: number): AuditEventId => v7({ msecs }) as AuditEventId
