import { Clock, Effect, Schema } from "effect"
import { v7 } from "uuid"
import { randomBytes } from "./Random.ts"

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/

/** A UUIDv7 (RFC 9562): 128 bits, the first 48 the time of creation in milliseconds, so IDs sort by age. */
export const Uuid = Schema.String.check(
  // Any version: `Schema.isUUID` takes those of the RFC alone.
  Schema.isPattern(uuid, { toJsonSchema: () => ({ format: "uuid", pattern: uuid.source }) })
)

export const WebhookId = Uuid.pipe(Schema.brand("WebhookId")).annotate({
  description: "The webhook's id, a UUIDv7."
})
export type WebhookId = typeof WebhookId.Type

/** The identity of a run; also the `message_id` of its prompt on the bus. */
export const RunId = Uuid.pipe(Schema.brand("RunId")).annotate({ description: "The run's id, a UUIDv7." })
export type RunId = typeof RunId.Type

/** The identity of an agent's conversation, across runs. */
export const ThreadId = Uuid.pipe(Schema.brand("ThreadId")).annotate({ description: "The thread's id, a UUIDv7." })
export type ThreadId = typeof ThreadId.Type

export const SessionId = Uuid.pipe(Schema.brand("SessionId")).annotate({
  description: "The session's id, a UUIDv7; not the secret in its cookie."
})
export type SessionId = typeof SessionId.Type
export const LeaderKeyId = Uuid.pipe(Schema.brand("LeaderKeyId")).annotate({
  description: "The leader key's id, a UUIDv7; not the key itself."
})
export type LeaderKeyId = typeof LeaderKeyId.Type

export const ApiKeyId = Uuid.pipe(Schema.brand("ApiKeyId")).annotate({
  description: "The API key's id, a UUIDv7; not the key itself."
})
export type ApiKeyId = typeof ApiKeyId.Type

export const LeaderId = Uuid.pipe(Schema.brand("LeaderId")).annotate({
  description: "A UUID that the leader chooses when it starts. It is the same in all its requests."
})
export type LeaderId = typeof LeaderId.Type

export const AuditEventId = Uuid.pipe(Schema.brand("AuditEventId")).annotate({
  description: "The event's id, a UUIDv7."
})
export type AuditEventId = typeof AuditEventId.Type

export const DestinationId = Uuid.pipe(Schema.brand("DestinationId")).annotate({
  description: "The destination's id, a UUIDv7."
})
export type DestinationId = typeof DestinationId.Type

/** Also the `webhook-id` of each attempt. */
export const DeliveryId = Uuid.pipe(Schema.brand("DeliveryId")).annotate({
  description: "The delivery's id, a UUID: the `webhook-id` of each attempt."
})
export type DeliveryId = typeof DeliveryId.Type

export const AlertRuleId = Uuid.pipe(Schema.brand("AlertRuleId")).annotate({
  description: "The alert rule's id, a UUIDv7."
})
export type AlertRuleId = typeof AlertRuleId.Type

export const AlertId = Uuid.pipe(Schema.brand("AlertId")).annotate({ description: "The alert's id, a UUIDv7." })
export type AlertId = typeof AlertId.Type

export const makeWebhookId: Effect.Effect<WebhookId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as WebhookId
)

export const makeDestinationId: Effect.Effect<DestinationId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as DestinationId
)

export const makeAlertRuleId: Effect.Effect<AlertRuleId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as AlertRuleId
)

/** The ID of an alert that begins at this time, in milliseconds since the epoch. */
export const alertIdAt = (msecs: number): AlertId => v7({ msecs }) as AlertId

/** The ID of a run that begins at this time, in milliseconds since the epoch. */
export const runIdAt = (msecs: number): RunId => v7({ msecs, random: randomBytes(16) }) as RunId

export const makeRunId: Effect.Effect<RunId> = Effect.map(Clock.currentTimeMillis, runIdAt)

export const makeSessionId: Effect.Effect<SessionId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as SessionId
)

export const makeLeaderKeyId: Effect.Effect<LeaderKeyId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as LeaderKeyId
)

export const makeApiKeyId: Effect.Effect<ApiKeyId> = Effect.map(
  Clock.currentTimeMillis,
  (msecs) => v7({ msecs }) as ApiKeyId
)

/** The ID of an event at this time, in milliseconds since the epoch. */
export const auditEventIdAt = (msecs: number): AuditEventId => v7({ msecs }) as AuditEventId
