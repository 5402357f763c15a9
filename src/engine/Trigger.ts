import { Clock, Context, Data, Deferred, Duration, Effect, Layer, Option, Redacted } from "effect"
import { Bus } from "../bus/Bus.ts"
import {
  IdempotencyKeyReused,
  InvalidVariables,
  type MissingVariables,
  NotFound,
  PromptTooLarge,
  TeamNotRunning,
  type TooManyQueued,
  Unavailable
} from "../domain/Errors.ts"
import { makeRunId, type RunId } from "../domain/Id.ts"
import { isFinal, type Run, type RunMode, type Variables } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import { checkVariables } from "../domain/Variables.ts"
import type { Webhook } from "../domain/Webhook.ts"
import { type NewRun, Repo } from "../repo/Repo.ts"
import { type Ended, Outcomes } from "./Outcomes.ts"
import { reach } from "./RacePoint.ts"
import { Renderer } from "./Renderer.ts"
import { Settings } from "./Settings.ts"
import { Shutdown } from "./Shutdown.ts"
import { hashToken, isTokenShaped, type Token, type TokenHash } from "./Token.ts"
import { traced } from "./Traced.ts"

/** A webhook that a caller has shown the token of. */
export interface Entry {
  readonly webhook: Webhook
  readonly token_hash: TokenHash
}

export interface TriggerRequest {
  readonly variables: Variables
  /** Milliseconds since the epoch, from Effect's `Clock`; a wait's deadline is counted from here. */
  readonly received_at: number
  readonly idempotency?: { readonly key: string; readonly request_hash: Uint8Array }
}

export type Refused =
  | InvalidVariables
  | MissingVariables
  | PromptTooLarge
  | TeamNotRunning
  | TooManyQueued
  | IdempotencyKeyReused
  | NotFound
  | Unavailable

/** The front of the flow: authenticate, render, accept; and wait, when the caller wants the answer. */
export class Trigger extends Context.Tag("webhook-trigger/Trigger")<
  Trigger,
  {
    /** `NotFound`: unknown, malformed, replaced or deleted token, or a disabled webhook. */
    readonly authenticate: (token: Token) => Effect.Effect<Entry, NotFound | Unavailable>
    /** Fire and forget: returns once the run is committed. */
    readonly submit: (entry: Entry, request: TriggerRequest) => Effect.Effect<RunId, Refused>
    /** Waits for the end of the run: `success`, `error`, or `timeout` at the deadline. Interruption leaves the run alone. */
    readonly ask: (entry: Entry, request: TriggerRequest) => Effect.Effect<Run, Refused>
    /** A run of this very webhook; with `wait`, held until it has ended or the webhook's timeout has passed. */
    readonly run: (
      entry: Entry,
      run_id: RunId,
      options: { readonly wait: boolean }
    ) => Effect.Effect<Run, NotFound | Unavailable>
    /** A chat message into the team's lane. `NotFound`: no such team. */
    readonly submitMessage: (team: TeamName, message: string) => Effect.Effect<RunId, Refused>
    readonly askMessage: (team: TeamName, message: string, received_at: number) => Effect.Effect<Run, Refused>
  }
>() {
  static readonly layer: Layer.Layer<Trigger, never, Bus | Outcomes | Renderer | Repo | Settings | Shutdown> =
    Layer.effect(
      Trigger,
      Effect.gen(function* () {
        const bus = yield* Bus
        const outcomes = yield* Outcomes
        const renderer = yield* Renderer
        const repo = yield* Repo
        const settings = yield* Settings
        const shutdown = yield* Shutdown

        const timeoutOf = (webhook: Webhook) =>
          webhook.timeout_seconds === undefined ? settings.timeout : Duration.seconds(webhook.timeout_seconds)

        const authenticate = (token: Token) => {
          if (!isTokenShaped(Redacted.value(token))) return Effect.fail(new NotFound())
          const token_hash = hashToken(token)
          return Effect.map(repo.webhookByToken(token_hash), (webhook): Entry => ({ webhook, token_hash }))
        }

        const render = (entry: Entry, variables: Variables) => {
          const faults = checkVariables(variables)
          return faults.length > 0
            ? Effect.fail(new InvalidVariables({ faults }))
            : renderer.render(entry.webhook.prompt_template, variables)
        }

        const mustRun = Effect.fnUntraced(function* (team: TeamName) {
          const { consumers } = yield* bus.queue(team)
          if (consumers === 0) return yield* new TeamNotRunning({ team })
        })

        const commit = Effect.fnUntraced(function* (run: NewRun, max_queued: number) {
          if (yield* shutdown.begun) return yield* stopping
          yield* reach("accept")
          const acceptance = yield* repo.accept(run, { max_queued })
          yield* reach("accepted")
          return acceptance
        })

        /** A repeat gets its first answer also when the team has stopped since; nothing new is taken in its place. */
        const repeated = (run: NewRun, error: TeamNotRunning) =>
          run.idempotency === undefined
            ? Effect.fail(error)
            : Effect.catchTag(commit(run, 0), "TooManyQueued", () => Effect.fail(error))

        /** The row is the hand-over: after this the run is the dispatcher's. */
        const accept = Effect.fnUntraced(function* (run: NewRun) {
          const acceptance = yield* mustRun(run.team).pipe(
            Effect.zipRight(commit(run, settings.maxQueued)),
            Effect.catchTag("TeamNotRunning", (error) => repeated(run, error))
          )
          if (acceptance._tag === "accepted") return Option.none()
          // An answer at once and an answer waited for are not the same request.
          if (acceptance.run.mode !== run.mode) return yield* new IdempotencyKeyReused()
          return Option.some(acceptance)
        }, traced("Trigger.accept"))

        const submit = (run: NewRun) =>
          Effect.map(accept(run), (earlier) =>
            Option.match(earlier, { onNone: () => run.run_id, onSome: (earlier) => earlier.run.run_id })
          )

        const ask = (run: NewRun) =>
          Effect.scoped(
            Effect.gen(function* () {
              const end = yield* watch(run.run_id)
              const earlier = yield* accept(run)
              if (Option.isNone(earlier)) return yield* endBy(run.run_id, end, run.deadline_at!)
              return yield* waitAgain(earlier.value.run.run_id, earlier.value.deadline_at!)
            })
          )

        /**
         * From now on the end of the run is not missed; the function inside waits for it, no longer than it is told to.
         * Only one fiber more for each of thousands of callers: all that may end the waiting settles one `Deferred`.
         */
        const watch = Effect.fnUntraced(function* (id: RunId) {
          const end = yield* Deferred.make<Ended, Late | Unavailable>()
          const ended = yield* outcomes.watch(id, end)
          return Effect.fnUntraced(function* (limit: Duration.Duration) {
            yield* shutdown.endsWaiting(end, id)
            yield* Effect.forkScoped(Effect.delay(Deferred.fail(end, late), limit))
            return yield* Effect.flatMap(
              ended,
              Effect.mapError(() => new NotFound())
            )
          })
        })
        type Watch = Effect.Effect.Success<ReturnType<typeof watch>>

        /** Waits for the end of the run; at the deadline, makes `timeout` its end unless another came first. */
        const endBy = Effect.fnUntraced(function* (id: RunId, end: Watch, deadline: Date) {
          const left = deadline.getTime() - (yield* Clock.currentTimeMillis)
          const timeout = outcomes.end(id, { status: "timeout" }).pipe(
            Effect.mapError(({ what, detail }) => new Unavailable({ what, detail, run_id: id })),
            Effect.flatMap(Effect.mapError(() => new NotFound()))
          )
          return yield* Effect.catchTag(end(Duration.millis(Math.max(0, left))), "Late", () => timeout)
        })

        const waitAgain = (id: RunId, deadline: Date) =>
          Effect.scoped(
            Effect.gen(function* () {
              const end = yield* watch(id)
              const run = yield* repo.run(id)
              return isFinal(run.status) ? run : yield* endBy(id, end, deadline)
            })
          )

        const webhookRun = Effect.fnUntraced(function* (
          entry: Entry,
          { variables, received_at, idempotency }: TriggerRequest,
          mode: RunMode
        ) {
          const prompt = yield* render(entry, variables)
          const { id, team } = entry.webhook
          const timeout_ms = Duration.toMillis(timeoutOf(entry.webhook))
          return {
            run_id: yield* makeRunId,
            source: "webhook",
            webhook: { id, token_hash: entry.token_hash },
            team,
            mode,
            prompt,
            variables,
            timeout_ms,
            ...(mode === "wait" && { deadline_at: new Date(received_at + timeout_ms) }),
            accepted_at: new Date(yield* Clock.currentTimeMillis),
            ...(idempotency && { idempotency: { ...idempotency, ttl_ms: Duration.toMillis(idempotencyKeyLife) } })
          } satisfies NewRun
        })

        const messageRun = Effect.fnUntraced(function* (
          team: TeamName,
          message: string,
          received_at: number,
          mode: RunMode
        ) {
          yield* repo.team(team)
          if (Buffer.byteLength(message) > settings.maxPrompt) {
            return yield* new PromptTooLarge({ limit_bytes: settings.maxPrompt })
          }
          const timeout_ms = Duration.toMillis(settings.timeout)
          return {
            run_id: yield* makeRunId,
            source: "chat",
            team,
            mode,
            prompt: message,
            variables: {},
            timeout_ms,
            ...(mode === "wait" && { deadline_at: new Date(received_at + timeout_ms) }),
            accepted_at: new Date(yield* Clock.currentTimeMillis)
          } satisfies NewRun
        })

        const run = Effect.fnUntraced(function* (entry: Entry, id: RunId, options: { readonly wait: boolean }) {
          const own = Effect.filterOrFail(
            repo.run(id),
            (run) => run.webhook_id === entry.webhook.id,
            () => new NotFound()
          )
          if (!options.wait) return yield* own
          const end = yield* watch(id)
          const now = yield* own
          if (isFinal(now.status)) return now
          return yield* Effect.catchTag(end(timeoutOf(entry.webhook)), "Late", () => own)
        }, Effect.scoped)

        return Trigger.of({
          authenticate,
          submit: (entry, request) => Effect.flatMap(webhookRun(entry, request, "async"), submit),
          ask: (entry, request) => Effect.flatMap(webhookRun(entry, request, "wait"), ask),
          run,
          submitMessage: (team, message) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => messageRun(team, message, now, "async")).pipe(
              Effect.flatMap(submit)
            ),
          askMessage: (team, message, received_at) =>
            Effect.flatMap(messageRun(team, message, received_at, "wait"), ask)
        })
      })
    )
}

/** For how long a repeat of an `Idempotency-Key` returns the first run. */
const idempotencyKeyLife = Duration.hours(24)

/** The deadline came before the run's end. */
class Late extends Data.TaggedError("Late") {}
/** One for all: to make an error takes a picture of the stack. */
const late = new Late()

const stopping = new Unavailable({ what: "server", detail: "The server is stopping; try again in a moment." })
