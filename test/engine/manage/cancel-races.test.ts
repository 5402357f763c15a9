/**
 * Cancellations raced against acceptance, sending, start and answer, in memory and on PostgreSQL with RabbitMQ. There a few
 * hundred; `TEST_CANCEL_RACES=2000` makes as many.
 */

import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { Bus, LeaderBus } from "../../../src/bus/Bus.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import { Trigger } from "../../../src/engine/trigger/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { expect, it } from "../../support/It.ts"
import { randomFor } from "../../support/Random.ts"
import { busOnRabbitMq, repoOnPostgres } from "../../support/RealServices.ts"
import { engine, inFlight, makeTeam, makeWebhook, onEngine, until } from "../Scenario.ts"

const onRealServices = engine().pipe(Layer.provideMerge(Layer.merge(repoOnPostgres, busOnRabbitMq)))

/** How long they take, at random. */
interface Pauses {
  /** A leader, with a prompt. */
  readonly work: Effect.Effect<void>
  /** Whoever cancels a run that was accepted: until then it has been sent, begun or answered, or nothing of it. */
  readonly patience: Effect.Effect<void>
}

/** `pausesFor`: once it is known how long a run takes, in milliseconds. */
const races = (count: number, lanes: number, pausesFor: (ms: number) => Pauses) =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const cancellation = yield* Cancellation
    const worked = new Map<RunId, number>()
    let pauses: Pauses = { work: Effect.void, patience: Effect.void }
    const lead = (team: TeamName) =>
      Effect.flatMap(LeaderBus, (bus) =>
        bus.lead(team, ({ cancelled, prompt, reply }) =>
          Effect.gen(function* () {
            const { run_id } = prompt
            worked.set(run_id, (worked.get(run_id) ?? 0) + 1)
            yield* reply({ _tag: "Started" })
            yield* pauses.work
            if (yield* Deferred.isDone(cancelled)) yield* reply({ _tag: "Failed", message: "stopped" })
            else yield* reply({ _tag: "Answered", response: "done" })
          })
        )
      )
    const webhooks = yield* Effect.forEach(Array.from({ length: lanes }), (_, lane) =>
      Effect.gen(function* () {
        const team = yield* makeTeam(`lane-${lane}`)
        yield* lead(team)
        const bus = yield* Bus
        yield* until(Effect.map(bus.queue(team), ({ consumers }) => consumers === 1))
        return yield* makeWebhook(team, { max_concurrent: 3 })
      })
    )
    const trigger = yield* Trigger
    const rows = yield* Effect.forEach(webhooks, ({ id }) => trigger.open(id))
    // The first one waits for everything to be connected.
    yield* webhooks[0]!.ask("are you there?")
    const [taken] = yield* Effect.timed(webhooks[0]!.ask("how long does a run take?"))
    pauses = pausesFor(Duration.toMillis(taken))
    const race = (n: number) =>
      Effect.gen(function* () {
        const webhook = webhooks[n % lanes]!
        // All that is queued is cancelled as well, while others are accepted and sent.
        if (n % 50 === 0) yield* Effect.forkChild(cancellation.cancelQueuedOfWebhook(webhook.id))
        const id = yield* webhook.submit("hello")
        const follow = n % 4 === 0 ? trigger.run(rows[n % lanes]!, id, { wait: true }) : Effect.succeed(undefined)
        const told = yield* Effect.forkChild(follow)
        // Some surely come too late, and some almost at once, however fast this machine is now.
        if (n % 20 === 19) yield* trigger.run(rows[n % lanes]!, id, { wait: true })
        else if (n % 20 !== 18) yield* pauses.patience
        const result = yield* Effect.result(cancellation.cancel(id))
        return { id, result, told: (yield* Fiber.join(told))?.status }
      })
    const ends = yield* Effect.forEach(
      Array.from({ length: count }, (_, n) => n),
      race,
      { concurrency: 20 }
    )
    for (const { id, result, told } of ends) {
      const { status } = yield* repo.run(id)
      // What somebody who waits for the run was answered.
      if (told !== undefined) expect(told).toBe(status)
      if (result._tag === "Success") expect(status).toBe("cancelled")
      else expect(result.failure).toMatchObject({ _tag: "RunEnded", status })
    }
    expect(new Set(ends.map(({ result }) => result._tag))).toEqual(new Set(["Failure", "Success"]))
    const logState = Effect.flatMap(Effect.all([inFlight, repo.out]), (state) => Effect.logError("In flight", state))
    yield* Effect.tapCause(until(Effect.map(inFlight, (total) => total === 0)), () => logState)
    expect(yield* repo.out).toEqual([])
    for (const webhook of webhooks) expect((yield* webhook.ask("the lane goes on")).status).toBe("success")
    const cancelled = ends.filter(({ result }) => result._tag === "Success").length
    const repeated = Array.from(worked).filter(([, times]) => times > 1)
    return { cancelled, begun: worked.size, repeated }
  })

const random = randomFor("cancellations")

onEngine(
  "however a cancellation races with acceptance, sending, start and answer, all agree, and no lane stops",
  function* () {
    const { repeated } = yield* races(2_000, 1, () => {
      const turns = (most: number) =>
        Effect.suspend(() => Effect.repeat(Effect.yieldNow, { times: Math.floor(random.between(0, most)) }))
      return { work: turns(8), patience: turns(30) }
    })
    // On real services a prompt is sent again if it is not known in time that it was sent.
    expect(repeated).toEqual([])
  }
)

const onBoth = Number(process.env.TEST_CANCEL_RACES ?? 200)

it.live("so it is on PostgreSQL and RabbitMQ", () =>
  Effect.gen(function* () {
    const { begun, cancelled } = yield* races(onBoth, 4, (ms) => {
      const unit = Math.min(ms, 100)
      const some = (most: number) => Effect.suspend(() => Effect.sleep(random.between(0, most * unit)))
      return { work: some(0.3), patience: some(6) }
    })
    if (process.env.TEST_CANCEL_RACES) console.info({ races: onBoth, begun, cancelled })
    // The leaders stop before their broker goes.
  }).pipe(Effect.scoped, Effect.provide(onRealServices))
)
