/** What every bus must do, whatever carries it. */
import { describe, expect, it } from "@effect/vitest"
import {
  Chunk,
  Deferred,
  Effect,
  Exit,
  Fiber,
  type Layer,
  Logger,
  LogLevel,
  Option,
  Queue,
  Schedule,
  Scope
} from "effect"
import {
  Bus,
  type Delivery,
  LeaderBus,
  type Prompt,
  QueueGone,
  type Report,
  type TeamQueue
} from "../../src/bus/Bus.ts"
import { Unavailable } from "../../src/domain/Errors.ts"
import { makeRunId } from "../../src/domain/Id.ts"
import { TeamName } from "../../src/domain/Team.ts"

export const team = TeamName.make("deploy")

export const makePrompt = (fields: Partial<Prompt> = {}) =>
  Effect.map(makeRunId, (run_id): Prompt => ({ run_id, source: "chat", team, prompt: "hello", ...fields }))

/** Waits until the bus is connected: an operation waits for that for three seconds only. */
export const untilUp: Effect.Effect<void, Unavailable, Bus> = Effect.flatMap(Bus, (bus) =>
  Effect.retry(bus.ping, { schedule: Schedule.spaced("20 millis"), times: 1500 })
)

/** Waits until the team's queue is as asked for, and returns it. */
export const untilQueue = (condition: (queue: TeamQueue) => boolean): Effect.Effect<TeamQueue, unknown, Bus> =>
  Effect.flatMap(Bus, (bus) => bus.queue(team)).pipe(
    Effect.filterOrFail(condition, (queue) => new Error(`the queue is still ${JSON.stringify(queue)}`)),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 700 })
  )

/** Leads the team with this handler until the returned effect is run, and waits until the bus shows it. */
export const startLeader = (
  handle: (delivery: Delivery) => Effect.Effect<void, Unavailable>,
  options?: { readonly grace?: number; readonly consumers?: number }
) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const leaders = yield* LeaderBus
    yield* leaders.lead(team, handle, { grace: options?.grace ?? 0 }).pipe(Scope.extend(scope))
    yield* untilQueue(({ consumers }) => consumers >= (options?.consumers ?? 1))
    return Scope.close(scope, Exit.void)
  })

/** Everything that the bus reports, as it comes. */
export const collectReports = Effect.gen(function* () {
  const reports = yield* Queue.unbounded<Report>()
  const bus = yield* Bus
  yield* bus.consume((report) => Effect.asVoid(Queue.offer(reports, report)))
  return reports
})

/** A leader that answers with the prompt. */
const echo = ({ prompt, reply }: Delivery) =>
  reply({ _tag: "Answered", run_id: prompt.run_id, response: prompt.prompt })

/**
 * @param standbys whether `consumers` counts leaders that stand by: RabbitMQ 3.10 counts only the active consumer of a
 * quorum queue.
 */
export const contract = (layer: Layer.Layer<Bus | LeaderBus>, { standbys = true } = {}): void => {
  const behaviour = (name: string, test: Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>) =>
    it.live(name, () =>
      Effect.scoped(Effect.zipRight(untilUp, test)).pipe(
        Effect.provide(layer),
        Logger.withMinimumLogLevel(LogLevel.None)
      )
    )
  const withStandby = { consumers: standbys ? 2 : 1 }

  describe("queues", () => {
    behaviour(
      "a team nobody ever led has no queue, and a prompt to it fails with QueueGone",
      Effect.gen(function* () {
        const bus = yield* Bus
        expect(yield* bus.queue(team)).toEqual({ exists: false, consumers: 0, messages: 0 })
        const error = yield* Effect.flip(bus.publish(yield* makePrompt()))
        expect(error).toBeInstanceOf(QueueGone)
      })
    )

    behaviour(
      "a queue counts its leaders and its waiting prompts, and outlives its leaders",
      Effect.gen(function* () {
        const bus = yield* Bus
        const stopFirst = yield* startLeader(() => Effect.never)
        const stopSecond = yield* startLeader(() => Effect.never, withStandby)
        for (let i = 0; i < 3; i++) yield* bus.publish(yield* makePrompt())
        yield* untilQueue(({ consumers, messages }) => consumers === withStandby.consumers && messages === 2)
        yield* stopSecond
        yield* stopFirst
        const left = yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 3)
        expect(left).toEqual({ exists: true, consumers: 0, messages: 3 })
      })
    )

    behaviour(
      "a queue is removed only when nothing is in it and nobody consumes it",
      Effect.gen(function* () {
        const bus = yield* Bus
        const stop = yield* startLeader(() => Effect.never)
        yield* bus.removeQueue(team)
        expect((yield* bus.queue(team)).exists).toBe(true)
        yield* bus.publish(yield* makePrompt())
        yield* stop
        yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 1)
        yield* bus.removeQueue(team)
        expect((yield* bus.queue(team)).exists).toBe(true)
        const answered = yield* Deferred.make<void>()
        const worked = yield* startLeader(
          (delivery) => Effect.zipRight(echo(delivery), Deferred.succeed(answered, undefined)),
          { grace: 10_000 }
        )
        yield* Deferred.await(answered)
        yield* worked
        yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 0)
        yield* bus.removeQueue(team)
        expect((yield* bus.queue(team)).exists).toBe(false)
        yield* bus.removeQueue(team)
      })
    )
  })

  describe("prompts", () => {
    behaviour(
      "prompts reach the leader one at a time, in the order of sending",
      Effect.gen(function* () {
        const bus = yield* Bus
        const seen: Array<string> = []
        let atWork = 0
        let most = 0
        const done = yield* Deferred.make<void>()
        yield* startLeader(({ prompt, redelivered }) =>
          Effect.gen(function* () {
            most = Math.max(most, ++atWork)
            expect(redelivered).toBe(false)
            yield* Effect.sleep(1)
            seen.push(prompt.prompt)
            atWork--
            if (seen.length === 100) yield* Deferred.succeed(done, undefined)
          })
        )
        const sent = Array.from({ length: 100 }, (_, i) => `prompt ${i}`)
        for (const text of sent) yield* bus.publish(yield* makePrompt({ prompt: text }))
        yield* Deferred.await(done)
        expect(seen).toEqual(sent)
        expect(most).toBe(1)
      })
    )

    behaviour(
      "a prompt arrives as it was sent, whatever its size and characters",
      Effect.gen(function* () {
        const bus = yield* Bus
        const arrived = yield* Queue.unbounded<Prompt>()
        yield* startLeader(({ prompt }) => Effect.asVoid(Queue.offer(arrived, prompt)))
        const id = yield* makeRunId
        const webhook = { id: id as never, name: "Ünïcode „quotes“ \u202e 🦊" }
        const deadline = new Date(Date.now() + 60_000)
        const prompts = [
          yield* makePrompt({ prompt: "x".repeat(256 * 1024) }),
          yield* makePrompt({
            prompt: '日本語 🦊 \u0001 \r\n\t \\ " {{x}} \u2028',
            source: "webhook",
            webhook,
            deadline
          }),
          yield* makePrompt({ prompt: "" })
        ]
        for (const prompt of prompts) yield* bus.publish(prompt)
        for (const prompt of prompts) expect(yield* Queue.take(arrived)).toEqual(prompt)
      })
    )

    behaviour(
      "two leaders of one team never work at once; when one goes, the other takes over",
      Effect.gen(function* () {
        const bus = yield* Bus
        const working = new Set<string>()
        const workers: Array<string> = []
        const done = yield* Queue.unbounded<string>()
        const leader = (name: string) => (delivery: Delivery) =>
          Effect.gen(function* () {
            working.add(delivery.prompt.run_id)
            expect(working.size).toBe(1)
            yield* Effect.sleep(5)
            working.delete(delivery.prompt.run_id)
            workers.push(name)
            yield* Queue.offer(done, name)
          })
        const stopFirst = yield* startLeader(leader("first"))
        yield* startLeader(leader("second"), withStandby)
        for (let i = 0; i < 10; i++) yield* bus.publish(yield* makePrompt())
        yield* Queue.takeN(done, 10)
        expect(new Set(workers)).toEqual(new Set(["first"]))
        yield* stopFirst
        for (let i = 0; i < 10; i++) yield* bus.publish(yield* makePrompt())
        expect(new Set(yield* Queue.takeN(done, 10))).toEqual(new Set(["second"]))
      })
    )

    behaviour(
      "a prompt whose handling was cut short comes again before all others, marked as redelivered",
      Effect.gen(function* () {
        const bus = yield* Bus
        const begun = yield* Deferred.make<void>()
        const stop = yield* startLeader(() => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
        const prompts = [yield* makePrompt(), yield* makePrompt(), yield* makePrompt()]
        for (const prompt of prompts) yield* bus.publish(prompt)
        yield* Deferred.await(begun)
        yield* stop
        const deliveries = yield* Queue.unbounded<Delivery>()
        yield* startLeader((delivery) => Effect.asVoid(Queue.offer(deliveries, delivery)))
        const got = yield* Queue.takeN(deliveries, 3)
        expect(Chunk.toReadonlyArray(got).map(({ prompt }) => prompt.run_id)).toEqual(prompts.map((it) => it.run_id))
        expect(Chunk.toReadonlyArray(got).map(({ redelivered }) => redelivered)).toEqual([true, false, false])
      })
    )

    behaviour(
      "a prompt whose handler interrupts itself comes again first, to the same leader",
      Effect.gen(function* () {
        const bus = yield* Bus
        const seen = yield* Queue.unbounded<Delivery>()
        let first = true
        yield* startLeader((delivery) =>
          Effect.suspend(() => {
            if (first) {
              first = false
              return Effect.interrupt
            }
            return Effect.asVoid(Queue.offer(seen, delivery))
          })
        )
        const [one, two] = [yield* makePrompt(), yield* makePrompt()]
        yield* bus.publish(one)
        yield* bus.publish(two)
        const got = Chunk.toReadonlyArray(yield* Queue.takeN(seen, 2))
        expect(got.map(({ prompt, redelivered }) => [prompt.run_id, redelivered])).toEqual([
          [one.run_id, true],
          [two.run_id, false]
        ])
      })
    )

    behaviour(
      "a handler that fails because the broker is out of reach is run again, before the next prompt",
      Effect.gen(function* () {
        const bus = yield* Bus
        const seen = yield* Queue.unbounded<string>()
        let failures = 2
        yield* startLeader(({ prompt }) =>
          Effect.gen(function* () {
            yield* Queue.offer(seen, prompt.run_id)
            if (failures-- > 0) yield* new Unavailable({ what: "broker", detail: "for the test" })
          })
        )
        const [one, two] = [yield* makePrompt(), yield* makePrompt()]
        yield* bus.publish(one)
        yield* bus.publish(two)
        const order = Chunk.toReadonlyArray(yield* Queue.takeN(seen, 4))
        expect(order).toEqual([one.run_id, one.run_id, one.run_id, two.run_id])
      })
    )

    behaviour(
      "a prompt on which the handler dies is rejected, and reported dead",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        yield* startLeader(({ prompt }) => (prompt.prompt === "bad" ? Effect.die("for the test") : Effect.void))
        const prompt = yield* makePrompt({ prompt: "bad" })
        yield* bus.publish(prompt)
        expect(yield* Queue.take(reports)).toEqual({ _tag: "Dead", run_id: prompt.run_id, reason: "rejected" })
      })
    )

    behaviour(
      "a leader that stops with grace finishes its prompt and takes no other",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        const begun = yield* Deferred.make<void>()
        const finish = yield* Deferred.make<void>()
        const stop = yield* startLeader(
          (delivery) =>
            Deferred.succeed(begun, undefined).pipe(
              Effect.zipRight(Deferred.await(finish)),
              Effect.zipRight(echo(delivery))
            ),
          { grace: 10_000 }
        )
        const [one, two] = [yield* makePrompt(), yield* makePrompt()]
        yield* bus.publish(one)
        yield* bus.publish(two)
        yield* Deferred.await(begun)
        const stopping = yield* Effect.fork(stop)
        yield* Effect.yieldNow()
        yield* Deferred.succeed(finish, undefined)
        yield* Fiber.join(stopping)
        expect(yield* Queue.take(reports)).toEqual({ _tag: "Answered", run_id: one.run_id, response: "hello" })
        yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 1)
        const deliveries = yield* Queue.unbounded<Delivery>()
        yield* startLeader((delivery) => Effect.asVoid(Queue.offer(deliveries, delivery)))
        const next = yield* Queue.take(deliveries)
        expect([next.prompt.run_id, next.redelivered]).toEqual([two.run_id, false])
      })
    )

    behaviour(
      "a prompt that waits past its deadline is reported dead, and not delivered",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        const stop = yield* startLeader(() => Effect.never)
        yield* stop
        const [dated, plain] = [yield* makePrompt({ deadline: new Date(Date.now() + 200) }), yield* makePrompt()]
        yield* bus.publish(dated)
        yield* bus.publish(plain)
        expect(yield* Queue.take(reports)).toEqual({ _tag: "Dead", run_id: dated.run_id, reason: "expired" })
        const deliveries = yield* Queue.unbounded<Delivery>()
        yield* startLeader((delivery) => Effect.asVoid(Queue.offer(deliveries, delivery)))
        expect((yield* Queue.take(deliveries)).prompt.run_id).toBe(plain.run_id)
      })
    )

    behaviour(
      "a prompt whose deadline has passed is reported dead without being sent",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        yield* Effect.flatMap(
          startLeader(() => Effect.never),
          (stop) => stop
        )
        yield* untilQueue(({ consumers }) => consumers === 0)
        const prompt = yield* makePrompt({ deadline: new Date(Date.now() - 1) })
        yield* bus.publish(prompt)
        expect(yield* Queue.take(reports)).toEqual({ _tag: "Dead", run_id: prompt.run_id, reason: "expired" })
        expect((yield* bus.queue(team)).messages).toBe(0)
      })
    )
  })

  describe("reports", () => {
    behaviour(
      "what the leader reports comes back with the run's id",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        yield* startLeader(({ prompt: { prompt, run_id }, reply }) =>
          Effect.gen(function* () {
            yield* reply({ _tag: "Started", run_id })
            if (prompt === "fail") yield* reply({ _tag: "Failed", run_id, message: "it did not work — 💥" })
            else yield* reply({ _tag: "Answered", run_id, response: prompt })
          })
        )
        const good = yield* makePrompt({ prompt: "日本語 🦊 \r\n" })
        const bad = yield* makePrompt({ prompt: "fail" })
        yield* bus.publish(good)
        yield* bus.publish(bad)
        const got = Chunk.toReadonlyArray(yield* Queue.takeN(reports, 4))
        expect(new Set(got)).toEqual(
          new Set([
            { _tag: "Started", run_id: good.run_id },
            { _tag: "Answered", run_id: good.run_id, response: "日本語 🦊 \r\n" },
            { _tag: "Started", run_id: bad.run_id },
            { _tag: "Failed", run_id: bad.run_id, message: "it did not work — 💥" }
          ])
        )
      })
    )

    behaviour(
      "an answer with characters that a database cannot keep has them replaced",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        yield* startLeader(({ prompt: { run_id }, reply }) =>
          reply({ _tag: "Answered", run_id, response: "a\0b\ud800c🦊" })
        )
        const prompt = yield* makePrompt()
        yield* bus.publish(prompt)
        const report = yield* Queue.take(reports)
        expect(report).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "a\uFFFDb\uFFFDc🦊" })
      })
    )

    behaviour(
      "an answer over 8 MiB ends its run as failed; one of 8 MiB arrives",
      Effect.gen(function* () {
        const bus = yield* Bus
        const reports = yield* collectReports
        // On the wire a few bytes of JSON stand around the answer.
        const longest = 8 * 1024 * 1024 - 100
        yield* startLeader(({ prompt: { prompt, run_id }, reply }) =>
          reply({ _tag: "Answered", run_id, response: "x".repeat(Number(prompt)) })
        )
        for (const size of [8 * 1024 * 1024 + 1, 20 * 1024 * 1024]) {
          const over = yield* makePrompt({ prompt: String(size) })
          yield* bus.publish(over)
          const message = "answer larger than 8 MiB"
          expect(yield* Queue.take(reports)).toEqual({ _tag: "Failed", run_id: over.run_id, message })
        }
        yield* bus.publish(yield* makePrompt({ prompt: String(longest) }))
        const report = yield* Queue.take(reports)
        expect(report._tag === "Answered" && report.response.length).toBe(longest)
      })
    )

    behaviour(
      "a report whose handling fails is handed over again until it succeeds",
      Effect.gen(function* () {
        const bus = yield* Bus
        const tries = yield* Queue.unbounded<string>()
        let failures = 2
        yield* bus.consume((report) =>
          Effect.gen(function* () {
            yield* Queue.offer(tries, report._tag)
            if (failures-- > 0) yield* new Unavailable({ what: "database", detail: "for the test" })
          })
        )
        yield* startLeader(echo)
        yield* bus.publish(yield* makePrompt())
        expect(Chunk.toReadonlyArray(yield* Queue.takeN(tries, 3))).toEqual(["Answered", "Answered", "Answered"])
        yield* untilQueue(({ messages }) => messages === 0)
        expect(yield* Queue.poll(tries)).toEqual(Option.none())
      })
    )

    behaviour(
      "a report that fails does not hold up the others",
      Effect.gen(function* () {
        const bus = yield* Bus
        const stuck = yield* makePrompt()
        const handled = yield* Queue.unbounded<string>()
        yield* bus.consume((report) =>
          report.run_id === stuck.run_id
            ? Effect.fail(new Unavailable({ what: "database", detail: "for the test" }))
            : Effect.asVoid(Queue.offer(handled, report.run_id))
        )
        yield* startLeader(echo)
        yield* bus.publish(stuck)
        const other = yield* makePrompt()
        yield* bus.publish(other)
        expect(yield* Queue.take(handled)).toBe(other.run_id)
      })
    )

    behaviour(
      "a report that was being handled when its consumer stopped is handed to the next one",
      Effect.gen(function* () {
        const bus = yield* Bus
        const begun = yield* Deferred.make<void>()
        const scope = yield* Scope.make()
        yield* bus
          .consume(() => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
          .pipe(Scope.extend(scope))
        yield* startLeader(echo)
        const prompt = yield* makePrompt()
        yield* bus.publish(prompt)
        yield* Deferred.await(begun)
        yield* Scope.close(scope, Exit.void)
        const reports = yield* collectReports
        expect(yield* Queue.take(reports)).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "hello" })
      })
    )

    behaviour(
      "reports that nobody consumes yet wait for the first consumer",
      Effect.gen(function* () {
        const bus = yield* Bus
        yield* startLeader(echo)
        const prompt = yield* makePrompt()
        yield* bus.publish(prompt)
        yield* untilQueue(({ messages }) => messages === 0)
        const reports = yield* collectReports
        expect((yield* Queue.take(reports)).run_id).toBe(prompt.run_id)
      })
    )
  })

  behaviour(
    "the bus answers a ping",
    Effect.flatMap(Bus, (bus) => bus.ping)
  )
}
