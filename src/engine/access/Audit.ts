/** Who makes a request, for the audit events of changes. */
import { Clock, Context, DateTime, Effect, Exit } from "effect"
import type { AuditAction, AuditActor, AuditDraft, AuditEvent } from "../../domain/access/AuditEvent.ts"
import { auditEventIdAt, type RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { type Submitted, startedRunOf } from "../../domain/run/Submitted.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Decision } from "../../domain/webhook/Approvers.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"

/** This server itself makes no request. */
export type Requester = Exclude<AuditActor, "automatic">

export interface OriginValues {
  readonly actor: Requester
  /** The actor's API key: the program's, or the session's. Names are not unique. */
  readonly key_id?: string | undefined
  readonly key_name?: string | undefined
  /** The person who signed in at the provider. */
  readonly person_id?: string | undefined
  readonly person_name?: string | undefined
  readonly session_id?: string | undefined
  /** The teams that the actor is limited to; absent: none. */
  readonly teams?: ReadonlyArray<TeamName> | undefined
  readonly client_address?: string | undefined
}

/** The actor and address; by default, the program that embeds this service. */
export class Origin extends Context.Reference("webhook-trigger/Origin", {
  defaultValue: (): OriginValues => ({ actor: "host" })
}) {}

/** The actor for people: "key ci-deploy", or a person's name. */
export const nameOf = ({ actor, key_name, person_name }: OriginValues): string =>
  person_name ?? (key_name === undefined ? actorNames[actor] : `key ${key_name}`)

const actorNames: { readonly [Actor in Requester]: string } = {
  admin_key: "admin key",
  api_key: "API key",
  session: "admin key",
  host: "host",
  unknown: "unknown"
}

/** The event of a change that is about to be made, for its store. */
export const draft = (action: AuditAction): Effect.Effect<AuditDraft> =>
  Effect.gen(function* () {
    const { actor, client_address, key_id, key_name, person_id, person_name, session_id } = yield* Origin
    const now = yield* Clock.currentTimeMillis
    return {
      id: auditEventIdAt(now),
      at: DateTime.makeUnsafe(now),
      action,
      actor,
      ...(key_id !== undefined && { key_id }),
      ...(key_name !== undefined && { key_name }),
      ...(person_id !== undefined && { person_id }),
      ...(person_name !== undefined && { person_name }),
      ...(session_id !== undefined && { session_id }),
      ...(client_address !== undefined && { client_address })
    }
  })

/** The event of a change that this server makes by itself. */
export const automaticDraft = (action: AuditAction): Effect.Effect<AuditDraft> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    id: auditEventIdAt(now),
    at: DateTime.makeUnsafe(now),
    action,
    actor: "automatic"
  }))

/** Writes the event of a finished action. A failed write is logged and undoes nothing. */
export const record = (event: AuditEvent): Effect.Effect<void, never, AuditStore> =>
  Effect.flatMap(AuditStore, ({ recordAudit }) => recordAudit(event)).pipe(
    Effect.catch(({ detail }) => Effect.logWarning(`An audit event could not be written: ${detail}`)),
    Effect.annotateLogs({ action: event.action })
  )

/** Writes the event of a run started by hand, even if its caller disconnects. */
export const recordStart =
  (action: AuditAction, object: string) =>
  <A extends Submitted, E, R>(start: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | AuditStore> =>
    Effect.flatMap(draft(action), (event) =>
      Effect.onExit(start, (exit) => {
        if (Exit.isFailure(exit)) return Exit.hasInterrupts(exit) ? record({ ...event, object }) : Effect.void
        const run_id = startedRunOf(exit.value)
        return run_id === undefined ? Effect.void : record({ ...event, object, after: { run_id } })
      })
    )

/** Writes the event of a decision about a run that waits for approval, also of one that is refused to this person. */
export const recordDecision =
  (decision: Decision, object: RunId) =>
  <E extends { readonly _tag: string }, R>(decide: Effect.Effect<Run, E, R>): Effect.Effect<Run, E, R | AuditStore> =>
    Effect.flatMap(draft("run.decision_refused"), (event) =>
      recordDone<Run>(
        decision === "approve" ? "run.approved" : "run.denied",
        object
      )(decide).pipe(
        Effect.tapError(({ _tag }) =>
          _tag === "Forbidden" ? record({ ...event, object, after: { decision } }) : Effect.void
        )
      )
    )

/** Writes the event of an action, with its result. */
export const recordDone =
  <A>(action: AuditAction, object: string | undefined, after?: (result: A) => AuditEvent["after"]) =>
  <E, R>(act: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | AuditStore> =>
    Effect.flatMap(draft(action), (event) =>
      Effect.tap(act, (result) => {
        const shown = after?.(result)
        return record({
          ...event,
          ...(object !== undefined && { object }),
          ...(shown !== undefined && { after: shown })
        })
      })
    )
