import { Clock, DateTime, Duration, Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import { v4 } from "uuid"
import { Bus } from "../../../src/bus/Bus.ts"
import { PromptLost, Unavailable } from "../../../src/domain/Errors.ts"
import { type LeaderId, makeLeaderKeyId, type RunId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { TeamLeaders } from "../../../src/engine/leaders/TeamLeaders.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import { type GivenPrompt, HttpLeaders } from "../../../src/engine/reply/HttpLeaders.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import type { KeyedLeader } from "../../../src/repo/run/HttpLeaderStore.ts"
import { advance } from "../../../src/testing.ts"
import { newTokenHash } from "../../repo/contract/fixtures.ts"
import { describe, expect, it } from "../../support/It.ts"
import {
  engine,
  waiting as inQueue,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onPorts,
  ports,
  sendMessage,
  statusOf,
  until
} from "../Scenario.ts"

const wait = Duration.seconds(20)

/** A leader with a key of its own. */
const newLeader = (team: TeamName) =>
  Effect.gen(function* () {
    const key = { id: yield* makeLeaderKeyId, team, name: "test", hint: "…", created_at: yield* DateTime.now }
    yield* (yield* Repo).createLeaderKey({ ...key, key_hash: yield* newTokenHash })
    return { team, leader: v4() as LeaderId, key_id: key.id }
  })

/** Waits for the leader's prompt, in a fiber. */
const asks = (asking: KeyedLeader) =>
  Effect.flatMap(HttpLeaders, (leaders) => Effect.forkChild(leaders.next(asking, wait)))

const join = <E>(fiber: Fiber.Fiber<Option.Option<GivenPrompt>, E>) =>
  Effect.map(Fiber.join(fiber), (given) => {
    const { prompt, redelivered } = Option.getOrThrow(given)
    return { ...prompt, redelivered }
  })

type Taken = Effect.Success<ReturnType<typeof join>>

const next = (asking: KeyedLeader) => Effect.flatMap(asks(asking), join)

const textOf = ({ prompt }: Taken): string => prompt

const answer = ({ correlation_id, team }: Taken, response = "done") =>
  Effect.flatMap(HttpLeaders, (leaders) => leaders.reply(team, correlation_id, { _tag: "Answered", response }))

const work = (asking: KeyedLeader, run_id: RunId) =>
  Effect.flatMap(HttpLeaders, (leaders) => leaders.work({ ...asking, run_id }))

const isLed = (team: TeamName) => Effect.map(TeamLeaders, ({ isOverHttp }) => isOverHttp(team))

const untilLed = (team: TeamName) => until(isLed(team))

/** Moves the clock by seconds, as the polls go, until the condition holds. Returns how many milliseconds that took. */
const secondsUntil = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    yield* until(Effect.andThen(advance("1 second"), condition))
    return (yield* Clock.currentTimeMillis) - begun
  })

/** The same for a number of seconds. */
const seconds = (count: number, each: Effect.Effect<unknown, unknown, HttpLeaders> = Effect.void) => {
  let left = count
  return secondsUntil(Effect.as(each, false).pipe(Effect.map(() => --left === 0)))
}

const isDone = (fiber: Fiber.Fiber<unknown, unknown>) => Effect.sync(() => fiber.pollUnsafe() !== undefined)

/** A team whose leader waits for a prompt. */
const ledTeam = Effect.gen(function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* newLeader(team)
  const first = yield* asks(leader)
  yield* untilLed(team)
  return { team, leader, first }
})

describe("leaders over HTTP", () => {
  onEngine("get their team's prompts in order, one at a time, and an answer ends the run", function* () {
    const { first, leader, team } = yield* ledTeam
    const ids = yield* Effect.forEach(["one", "two"], (text) => sendMessage(team, text))
    const one = yield* join(first)
    expect([textOf(one), one.run_id, one.redelivered]).toEqual(["one", ids[0], false])
    const again = yield* next(leader)
    expect(again.run_id).toBe(one.run_id)
    yield* answer(one, "1")
    expect((yield* (yield* Repo).run(one.run_id)).conversation.response).toBe("1")
    expect(textOf(yield* next(leader))).toBe("two")
  })

  onEngine("start a run by taking its prompt", function* () {
    const { first, team } = yield* ledTeam
    yield* sendMessage(team, "one")
    const { run_id } = yield* join(first)
    const started = Effect.map((yield* Repo).run(run_id), ({ started_at }) => started_at !== undefined)
    yield* secondsUntil(started)
  })

  onEngine("stand by behind the leader of their team, and take the place of one that is silent", function* () {
    const { first, leader, team } = yield* ledTeam
    const standby = yield* newLeader(team)
    // Otherwise nobody is replaced yet: the server has just started.
    yield* seconds(10)
    const waiting = yield* asks(standby)
    yield* sendMessage(team, "one")
    const one = yield* join(first)
    yield* seconds(10, work(leader, one.run_id).pipe(Effect.forkChild))
    expect(yield* isDone(waiting)).toBe(false)
    expect(yield* secondsUntil(isDone(waiting))).toBeGreaterThanOrEqual(4_000)
    const taken = yield* join(waiting)
    expect([taken.run_id, taken.redelivered]).toEqual([one.run_id, true])
    expect(yield* Effect.flip(work(leader, one.run_id))).toEqual(new PromptLost())
    yield* answer(taken)
    expect(yield* Effect.flip(work(standby, one.run_id))).toEqual(new PromptLost())
  })

  onPorts("replace nobody just after the server's start, when all were silent", function* () {
    const team = yield* makeTeam("deploy")
    const [leader, standby] = [yield* newLeader(team), yield* newLeader(team)]
    const run_id = yield* Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(engine())
        return yield* Effect.gen(function* () {
          const first = yield* asks(leader)
          yield* untilLed(team)
          yield* sendMessage(team, "one")
          return (yield* join(first)).run_id
        }).pipe(Effect.provide(context))
      })
    )
    yield* advance("1 minute")
    yield* Effect.gen(function* () {
      const waiting = yield* asks(standby)
      yield* seconds(3)
      expect(yield* isDone(waiting)).toBe(false)
      const working = yield* Effect.forkChild(work(leader, run_id))
      yield* secondsUntil(isDone(working))
      expect(yield* Fiber.join(working)).toEqual({ cancelled: false })
    }).pipe(Effect.provide(engine()))
  })

  onPorts("keep their prompt while the servers change, and it is not given to anyone else", function* () {
    const team = yield* makeTeam("deploy")
    const [leader, standby] = [yield* newLeader(team), yield* newLeader(team)]
    const scope = yield* Scope.make()
    const one = yield* Effect.gen(function* () {
      const context = yield* Scope.provide(Layer.build(engine()), scope)
      const first = yield* asks(leader).pipe(Effect.provide(context))
      yield* untilLed(team).pipe(Effect.provide(context))
      yield* sendMessage(team, "one").pipe(Effect.provide(context))
      return yield* join(first)
    })
    yield* Effect.gen(function* () {
      yield* untilLed(team)
      yield* Scope.close(scope, Exit.void)
      const waiting = yield* asks(standby)
      yield* seconds(5, work(leader, one.run_id).pipe(Effect.forkChild))
      expect(yield* isDone(waiting)).toBe(false)
      yield* answer(one, "1")
      expect((yield* (yield* Repo).run(one.run_id)).status).toBe("success")
      yield* sendMessage(team, "two")
      expect(textOf(yield* next(leader))).toBe("two")
    }).pipe(Effect.provide(engine()))
  })

  onEngine("whose connection was closed are replaced within seconds, unless they are back", function* () {
    const { first, leader, team } = yield* ledTeam
    const standby = yield* newLeader(team)
    yield* seconds(10)
    yield* sendMessage(team, "one")
    const { run_id } = yield* join(first)
    const waiting = yield* asks(standby)
    yield* Effect.repeat(
      Effect.flatMap(Effect.forkChild(work(leader, run_id)), (fiber) =>
        Effect.andThen(seconds(1), Fiber.interrupt(fiber))
      ),
      { times: 4 }
    )
    expect(yield* isDone(waiting)).toBe(false)
    expect(yield* secondsUntil(isDone(waiting))).toBeGreaterThanOrEqual(3_000)
  })

  onEngine(
    "learn that the run has timed out, and lose the prompt when they do not confirm that they have stopped",
    function* () {
      const { first, leader, team } = yield* ledTeam
      const { submit } = yield* makeWebhook(team, { timeout_seconds: 5 })
      const run_id = yield* submit("one")
      yield* join(first)
      const answers: Array<string> = []
      const asksAgain = work(leader, run_id).pipe(
        Effect.map(({ cancelled }) => (cancelled ? "stop" : "go on")),
        Effect.catchTag("PromptLost", () => Effect.succeed("lost")),
        Effect.map((answer) => answers.push(answer)),
        Effect.andThen(Effect.sleep("100 millis"))
      )
      yield* Effect.forkChild(Effect.repeat(asksAgain, { until: () => answers.at(-1) === "lost" }))
      yield* secondsUntil(Effect.sync(() => answers.at(-1) === "stop"))
      yield* secondsUntil(Effect.sync(() => answers.at(-1) === "lost"))
      expect([...new Set(answers)]).toEqual(["go on", "stop", "lost"])
      expect((yield* (yield* Repo).run(run_id)).unconfirmed).toBe(true)
      const two = yield* submit("two")
      expect((yield* next(leader)).run_id).toBe(two)
    }
  )

  onEngine("get no prompt whose run has ended", function* () {
    const { first, leader, team } = yield* ledTeam
    const { submit } = yield* makeWebhook(team, { timeout_seconds: 5 })
    const [one, two] = [yield* submit("one"), yield* submit("two")]
    const taken = yield* join(first)
    expect(taken.run_id).toBe(one)
    yield* (yield* HttpLeaders).leave(leader)
    yield* (yield* Cancellation).cancel(one)
    expect((yield* next(leader)).run_id).toBe(two)
    expect((yield* (yield* Repo).out).map(({ run_id }) => run_id)).toEqual([two])
  })

  onEngine(
    "that can never work on a prompt end its run as undeliverable; one may discard it without an answer",
    function* () {
      const { first, leader, team } = yield* ledTeam
      const leaders = yield* HttpLeaders
      for (const text of ["one", "two", "three"]) yield* sendMessage(team, text)
      const one = yield* join(first)
      yield* leaders.reply(team, one.correlation_id, { _tag: "Rejected" })
      expect((yield* (yield* Repo).run(one.run_id)).error?.code).toBe("undeliverable")
      const two = yield* next(leader)
      yield* leaders.reply(team, two.correlation_id, { _tag: "Discarded" })
      expect(textOf(yield* next(leader))).toBe("three")
    }
  )

  onEngine("wait for the time that they ask for, and no longer than their next request", function* () {
    const { first, leader } = yield* ledTeam
    const again = yield* asks(leader)
    expect(yield* Fiber.join(first)).toEqual(Option.none())
    expect(yield* secondsUntil(isDone(again))).toBeGreaterThanOrEqual(20_000)
    expect(yield* Fiber.join(again)).toEqual(Option.none())
  })

  onEngine("take the prompt that waits in their team's queue when they come", function* () {
    const team = yield* makeTeam("deploy")
    const scope = yield* Scope.make()
    const onBus = yield* Scope.provide(lead(team), scope)
    const run_id = yield* sendMessage(team, "one")
    yield* onBus.next
    yield* Scope.close(scope, Exit.void)
    expect(yield* inQueue(team)).toBe(1)
    const asking = yield* asks(yield* newLeader(team))
    yield* secondsUntil(isDone(asking))
    const taken = yield* join(asking)
    expect([taken.run_id, taken.redelivered]).toEqual([run_id, true])
    expect(yield* inQueue(team)).toBe(0)
    yield* answer(taken, "1")
    expect((yield* (yield* Repo).run(run_id)).conversation.response).toBe("1")
  })

  onEngine("leave the run that a leader on the bus works on to that one, and get the next ones", function* () {
    const team = yield* makeTeam("deploy")
    const onBus = yield* lead(team)
    const [one, two] = [yield* sendMessage(team, "one"), yield* sendMessage(team, "two")]
    expect((yield* onBus.next).text).toBe("one")
    const leader = yield* newLeader(team)
    const asking = yield* asks(leader)
    yield* seconds(15)
    expect(yield* isDone(asking)).toBe(false)
    yield* onBus.answer("1")
    const taken = yield* join(asking)
    expect([taken.run_id, taken.redelivered]).toEqual([two, false])
    yield* seconds(15, work(leader, two).pipe(Effect.forkChild))
    expect(yield* onBus.idle).toBe(true)
    yield* answer(taken, "2")
    const repo = yield* Repo
    expect((yield* repo.run(one)).conversation.response).toBe("1")
    expect((yield* repo.run(two)).conversation.response).toBe("2")
  })

  onEngine("that are gone are followed by a leader on the bus, which gets their run", function* () {
    const { first, leader, team } = yield* ledTeam
    const onBus = yield* lead(team)
    const run_id = yield* sendMessage(team, "one")
    yield* join(first)
    const given = yield* Effect.forkChild(onBus.next)
    expect(yield* secondsUntil(isDone(given))).toBeGreaterThanOrEqual(7_000)
    expect((yield* Fiber.join(given)).prompt.run_id).toBe(run_id)
    expect(yield* Effect.flip(work(leader, run_id))).toEqual(new PromptLost())
    const asking = yield* asks(leader)
    yield* seconds(3)
    expect(yield* isDone(asking)).toBe(false)
    yield* onBus.answer("1")
    yield* until(Effect.map(statusOf(run_id), (status) => status === "success"))
  })

  it.effect("get prompts while the broker is out of reach", () => {
    const away = new Unavailable({ what: "broker", detail: "for the test" })
    const withoutBroker = Layer.effect(
      Bus,
      Effect.map(Bus, (bus) => ({ ...bus, queue: () => away, publish: () => away, reachable: away, ping: away }))
    )
    return Effect.gen(function* () {
      const { first, leader, team } = yield* ledTeam
      const ids = yield* Effect.forEach(["one", "two"], (text) => sendMessage(team, text))
      yield* answer(yield* join(first), "1")
      const two = yield* next(leader)
      expect(two.run_id).toBe(ids[1])
      yield* seconds(10, work(leader, two.run_id).pipe(Effect.forkChild))
      yield* answer(two, "2")
      expect(yield* Effect.forEach(ids, statusOf)).toEqual(["success", "success"])
    }).pipe(Effect.provide(engine().pipe(Layer.provide(withoutBroker), Layer.provideMerge(ports))))
  })

  onPorts("keep their run when servers were away for long, also from a leader on the bus", function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* newLeader(team)
    const run_id = yield* Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(engine())
        return yield* Effect.gen(function* () {
          const first = yield* asks(leader)
          yield* untilLed(team)
          yield* sendMessage(team, "one")
          return (yield* join(first)).run_id
        }).pipe(Effect.provide(context))
      })
    )
    yield* advance("1 minute")
    const onBus = yield* lead(team)
    yield* Effect.gen(function* () {
      yield* seconds(3)
      const working = yield* Effect.forkChild(work(leader, run_id))
      yield* secondsUntil(isDone(working))
      expect(yield* Fiber.join(working)).toEqual({ cancelled: false })
      yield* seconds(5)
      expect(yield* onBus.idle).toBe(true)
    }).pipe(Effect.provide(engine()))
  })

  onEngine("find the next run of a team that nobody has ever led on the bus, and that they all had left", function* () {
    const { first, leader, team } = yield* ledTeam
    const { submit } = yield* makeWebhook(team)
    const [one, two] = [yield* submit("one"), yield* submit("two")]
    yield* join(first)
    yield* (yield* HttpLeaders).leave(leader)
    yield* (yield* Cancellation).cancel(one)
    const out = Effect.flatMap(Repo, (repo) => Effect.map(repo.out, (runs) => runs.map(({ run_id }) => run_id)))
    // Nobody works on it, so it is not waited for.
    expect(yield* secondsUntil(Effect.map(out, ([run_id]) => run_id === two))).toBeLessThan(10_000)
    yield* secondsUntil(Effect.map(statusOf(two), (status) => status === "running"))
    const taken = yield* next(yield* newLeader(team))
    expect([taken.run_id, taken.redelivered]).toEqual([two, false])
  })
})
