/** What tests of a bus are made of: prompts, leaders, and the replies that come back. */
import { Effect, Exit, type Layer, Option, Queue, References, Schedule, Schema, Scope } from "effect"
import {
  Bus,
  type Correlation,
  type Delivery,
  LeaderBus,
  type Prompt,
  type Reply,
  type ReplyChecks,
  type ReplyHandler,
  type TeamQueue
} from "../../../src/bus/Bus.ts"
import type { Unavailable } from "../../../src/domain/Errors.ts"
import { makeRunId, RunId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { type Body, it } from "../../support/It.ts"

export const team = TeamName.make("deploy")

export const makePrompt = (fields: Partial<Prompt> = {}) =>
  Effect.map(
    makeRunId,
    (run_id): Prompt => ({
      run_id,
      correlation_id: run_id,
      source: "chat",
      team,
      prompt: "hello",
      ...fields
    })
  )

/** For the prompts of `makePrompt`: their correlation ids are the run ids. */
export const byRunId: Correlation = {
  subjectOf: (correlation_id) =>
    Option.getOrUndefined(Option.map(Schema.decodeUnknownOption(RunId)(correlation_id), (run_id) => ({ run_id })))
}

/** For a minute at least, so that a busy machine fails no test. */
const again = { schedule: Schedule.spaced("20 millis"), times: 3_000 }

/** Waits until the bus is connected: an operation waits for that for three seconds only. */
export const untilUp: Effect.Effect<void, Unavailable, Bus> = Effect.flatMap(Bus, (bus) =>
  Effect.retry(bus.ping, again)
)

/** Waits until the team's queue meets the condition, and returns it. */
export const untilQueue = (condition: (queue: TeamQueue) => boolean): Effect.Effect<TeamQueue, unknown, Bus> =>
  Effect.flatMap(Bus, (bus) => bus.queue(team)).pipe(
    Effect.filterOrFail(condition, (queue) => new Error(`the queue is still ${JSON.stringify(queue)}`)),
    Effect.retry(again)
  )

/** Leads the team with this handler until the returned effect is run, and waits until the bus shows it. */
export const startLeader = (
  handle: (delivery: Delivery) => Effect.Effect<void, Unavailable>,
  options?: { readonly grace?: number; readonly consumers?: number }
) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const leaders = yield* LeaderBus
    yield* leaders.lead(team, handle, { grace: Effect.sleep(options?.grace ?? 0) }).pipe(Scope.provide(scope))
    yield* untilQueue(({ consumers }) => consumers >= (options?.consumers ?? 1))
    return Scope.close(scope, Exit.void)
  })

/** `Bus.consume`, with what tells replies to prompts of `makePrompt`. */
export const consume = (
  handle: ReplyHandler,
  checks?: Pick<ReplyChecks, "atOnce">
): Effect.Effect<void, never, Bus | Scope.Scope> =>
  Effect.flatMap(Bus, (bus) => bus.consume(handle, { correlation: byRunId, ...checks }))

/** Every reply that the bus passes on, as it comes. */
export const collectReplies = Effect.gen(function* () {
  const collected = yield* Queue.unbounded<Reply>()
  yield* consume((replies) => Effect.asVoid(Queue.offerAll(collected, replies)))
  return collected
})

/** A leader that answers with the prompt. */
export const echo = ({ prompt, reply }: Delivery) => reply({ _tag: "Answered", response: prompt.prompt })

/** One test of the contract, on a bus of its own that is connected. */
export type Behaviour = (name: string, body: Body<Bus | LeaderBus | Scope.Scope>) => void

export const behaviourOn =
  (layer: Layer.Layer<Bus | LeaderBus>): Behaviour =>
  (name, body) =>
    it.live(name, () =>
      Effect.scoped(Effect.andThen(untilUp, Effect.gen(body))).pipe(
        Effect.provide(layer),
        Effect.provideService(References.MinimumLogLevel, "None")
      )
    )
