/** Sends a chat message for a request, and answers it. */
import type { HttpServerRequest } from "@effect/platform"
import { type DateTime, Effect, Either } from "effect"
import type { AuditAction } from "../../domain/access/AuditEvent.ts"
import type { TeamName } from "../../domain/Team.ts"
import { Trigger } from "../../engine/accept/Trigger.ts"
import * as Audit from "../../engine/access/Audit.ts"
import * as Idempotency from "../trigger/Idempotency.ts"
import * as RunAnswer from "../trigger/RunAnswer.ts"
import { withLocation } from "./Location.ts"

interface SentMessage {
  readonly team: TeamName
  readonly message: string
  readonly thread_key?: string | undefined
  readonly received_at: DateTime.Utc
  /** As in the query. */
  readonly wait: boolean | undefined
  readonly audited: readonly [action: AuditAction, object: string]
}

export const make = Effect.map(
  Trigger,
  (trigger) =>
    (
      request: HttpServerRequest.HttpServerRequest,
      { audited, message, received_at, team, thread_key, wait }: SentMessage
    ) =>
      Effect.gen(function* () {
        const in_thread = thread_key === undefined ? {} : { thread_key }
        const idempotency = yield* Idempotency.readWith(request, () => Either.right({ message, ...in_thread }))
        const how = { received_at, wait: wait === true, ...in_thread, ...idempotency }
        const sent = yield* Audit.recordStart(...audited)(trigger.message(team, message, how))
        return yield* withLocation(request, RunAnswer.ofMessage(request, sent), sent)
      })
)
