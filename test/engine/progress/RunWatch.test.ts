import { DateTime, Effect, Layer, Queue, Stream } from "effect"
import { makeRunId, type RunId } from "../../../src/domain/Id.ts"
import type { Run } from "../../../src/domain/run/Run.ts"
import { type OnEnd, Outcomes } from "../../../src/engine/outcome/Outcomes.ts"
import { mark, type RunUpdate } from "../../../src/engine/progress/RunUpdate.ts"
import { RunWatch } from "../../../src/engine/progress/RunWatch.ts"
import { Shutdown } from "../../../src/engine/Shutdown.ts"
import { ChangeFeed, makeChangeListeners } from "../../../src/repo/ChangeFeed.ts"
import {
  type ProgressMark,
  ProgressStore,
  type ProgressText,
  type RunNews
} from "../../../src/repo/run/ProgressStore.ts"
import { advance } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"

const begun = DateTime.makeUnsafe(0)

/** Lets the effects that wait for a turn of the event loop go on. */
const settle = Effect.repeat(
  Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))),
  { times: 60 }
)
const pass = (time: `${number} ${"millis" | "seconds"}`) => Effect.andThen(advance(time), settle)

/** A run whose progress the test writes. */
interface Written {
  readonly texts: Array<ProgressText>
  activity?: ProgressText
  kept_after: number
  started: boolean
}

const make = Effect.gen(function* () {
  const runs = new Map<RunId, Written>()
  const reads: Array<ReadonlyArray<ProgressMark>> = []
  const ends = new Map<RunId, OnEnd>()
  const listeners = makeChangeListeners()
  const newsOf = ({ position, run_id }: ProgressMark): ReadonlyArray<RunNews> => {
    const run = runs.get(run_id)
    if (run === undefined) return []
    const last = Math.max(0, ...run.texts.map((it) => it.position), run.activity?.position ?? 0)
    const texts = run.texts.filter((it) => it.position > position && it.position > run.kept_after)
    const activity = run.activity !== undefined && run.activity.position > position && { activity: run.activity }
    const progress = last > position && {
      progress: { position: last, kept_after: run.kept_after, texts, steps: [], ...activity }
    }
    return [{ run_id, ...(run.started && { started_at: begun }), ...progress }]
  }
  const store = ProgressStore.of({
    addProgress: () => Effect.void,
    newsOf: (marks) =>
      Effect.sync(() => {
        reads.push(marks)
        return marks.flatMap(newsOf)
      }),
    stepsOf: () => Effect.succeed(new Map()),
    removeSteps: () => Effect.succeed(0),
    removeProgress: () => Effect.void
  })
  const outcomes = {
    watch: (id: RunId, onEnd: OnEnd) => {
      ends.set(id, onEnd)
      return () => ends.delete(id)
    }
  } as unknown as Outcomes["Service"]
  const feed = ChangeFeed.of({ listen: listeners.listen, publish: () => Effect.void, ping: Effect.void })
  const context = yield* Layer.build(
    RunWatch.layer.pipe(
      Layer.provideMerge(Shutdown.layer),
      Layer.provide(Layer.succeed(ProgressStore, store)),
      Layer.provide(Layer.succeed(Outcomes, outcomes)),
      Layer.provide(Layer.succeed(ChangeFeed, feed))
    )
  )
  const watch = yield* Effect.provide(RunWatch, context)

  const newRun = Effect.map(makeRunId, (run_id) => {
    runs.set(run_id, { texts: [], kept_after: 100, started: false })
    const run = runs.get(run_id)!
    return {
      run_id,
      start: () => {
        run.started = true
        listeners.notify([{ _tag: "RunStarted", run_id }])
      },
      write: (position: number, text: string) => void run.texts.push({ position, text }),
      act: (position: number, text: string) => {
        run.activity = { position, text }
      },
      restart: (position: number) => {
        run.texts.splice(0)
        run.kept_after = position
      },
      end: (status: "success") => ends.get(run_id)!({ run_id, status, started_at: begun } as Run)
    }
  })
  const running = (run_id: RunId) => ({ run_id, status: "running" }) as Run

  /** A follower that takes what it gets at once, and what it has got so far. */
  const follow = (run_id: RunId, received?: number) =>
    Effect.gen(function* () {
      const got: Array<RunUpdate> = []
      const updates = yield* watch.follow(run_id, {
        ...(received !== undefined && { received }),
        read: Effect.succeed(running(run_id))
      })
      const ended = yield* Effect.forkScoped(Stream.runForEach(updates, (it) => Effect.sync(() => got.push(it))))
      yield* settle
      return { got, take: () => got.splice(0), ended }
    })

  /** A follower that takes the next portion when the test says so. */
  const followSlowly = (run_id: RunId) =>
    Effect.gen(function* () {
      const updates = yield* watch.follow(run_id, { read: Effect.succeed(running(run_id)) })
      const may = yield* Queue.unbounded<void>()
      const portions: Array<ReadonlyArray<RunUpdate>> = []
      yield* Effect.forkScoped(
        Stream.runForEachArray(updates, (portion) =>
          Effect.andThen(
            Effect.sync(() => portions.push(portion)),
            Queue.take(may)
          )
        )
      )
      yield* settle
      return { portions, takeNext: Effect.andThen(Queue.offer(may, undefined), settle) }
    })

  return { reads, newRun, follow, followSlowly, shutdown: yield* Effect.provide(Shutdown, context), ends }
})

const tags = (updates: ReadonlyArray<RunUpdate>) => updates.map(({ _tag }) => _tag)
const textOf = (updates: ReadonlyArray<RunUpdate>) =>
  updates.flatMap((it) => (it._tag === "Progressed" ? [it.text ?? ""] : [])).join("")

describe("the followers of runs", () => {
  it.effect("get the start when it is notified, then the progress, and the end after the last progress", function* () {
    const { follow, newRun } = yield* make
    const { act, end, run_id, start, write } = yield* newRun
    const { take } = yield* follow(run_id)
    expect(take()).toEqual([{ _tag: "Accepted", run_id }])
    start()
    yield* pass("20 millis")
    expect(take()).toEqual([{ _tag: "Started", run_id, started_at: begun }])
    write(200, "a")
    act(200, "Thinking")
    yield* pass("250 millis")
    expect(take()).toEqual([{ _tag: "Progressed", position: 200, text: "a", activity: "Thinking" }])
    write(300, "b")
    act(400, "Writing")
    end("success")
    yield* pass("20 millis")
    expect(take()).toEqual([
      { _tag: "Progressed", position: 300, text: "b" },
      { _tag: "Progressed", position: 400, activity: "Writing" },
      { _tag: "Ended", run: { run_id, status: "success", started_at: begun }, text: "ab" }
    ])
  })

  it.effect("are told that a run has started before its first progress, even if its leader has not", function* () {
    const { follow, newRun } = yield* make
    const { run_id, write } = yield* newRun
    write(200, "a")
    const { take } = yield* follow(run_id)
    yield* pass("250 millis")
    expect(tags(take())).toEqual(["Accepted", "Started", "Progressed"])
    const { take: takeLater } = yield* follow(run_id, mark.accepted)
    yield* pass("250 millis")
    expect(tags(takeLater())).toEqual(["Started", "Progressed"])
  })

  it.effect("share one read for all runs, and the updates", function* () {
    const { follow, newRun, reads } = yield* make
    const runs = yield* Effect.replicateEffect(newRun, 3)
    const followers = yield* Effect.forEach(runs, ({ run_id }) => Effect.replicateEffect(follow(run_id), 40))
    for (const { start } of runs) start()
    yield* pass("250 millis")
    reads.splice(0)
    for (const { write } of runs) write(200, "a")
    yield* pass("250 millis")
    expect(reads.length).toBeLessThanOrEqual(2)
    expect(reads[0]).toHaveLength(3)
    for (const ofRun of followers) {
      const last = ofRun.map(({ got }) => got.at(-1))
      expect(last[0]).toMatchObject({ _tag: "Progressed", text: "a" })
      expect(new Set(last).size).toBe(1)
    }
  })

  it.effect("get everything in portions at their own pace, and delay nobody else", function* () {
    const { follow, followSlowly, newRun } = yield* make
    const { run_id, write } = yield* newRun
    const slow = yield* followSlowly(run_id)
    const { got } = yield* follow(run_id)
    const pieces = Array.from({ length: 16 }, (_, n) => String.fromCharCode(97 + n).repeat(16 * 1024))
    for (const [n, piece] of pieces.entries()) {
      write(200 + n, piece)
      yield* pass("250 millis")
    }
    expect(textOf(got)).toBe(pieces.join(""))
    expect(slow.portions.flat().map(({ _tag }) => _tag)).toEqual(["Accepted"])
    for (let n = 0; n < 8; n++) {
      yield* slow.takeNext
      yield* pass("250 millis")
    }
    expect(textOf(slow.portions.flat())).toBe(pieces.join(""))
    const sizes = slow.portions.map((portion) => textOf(portion).length)
    expect(Math.max(...sizes)).toBe(64 * 1024)
  })

  it.effect("learn that the text starts over, or that they have missed some of it", function* () {
    const { follow, newRun } = yield* make
    const { restart, run_id, write } = yield* newRun
    write(200, "first")
    const [quick, late] = [yield* follow(run_id), yield* follow(run_id, 150)]
    yield* pass("250 millis")
    expect(tags(quick.take())).toEqual(["Accepted", "Started", "Progressed"])
    expect(tags(late.take())).toEqual(["Progressed"])
    restart(201)
    write(300, "second")
    yield* pass("250 millis")
    const expected = [
      { _tag: "Restarted", position: 201 },
      { _tag: "Progressed", position: 300, text: "second" }
    ]
    expect(quick.take()).toEqual(expected)
    const resumed = yield* follow(run_id, 200)
    yield* pass("250 millis")
    expect(resumed.take()).toEqual(expected)
    const other = yield* follow(run_id, 299)
    yield* pass("250 millis")
    expect(tags(other.take())).toEqual(["Progressed"])
  })

  it.effect("of a flood get no more than a share of what a server can send", function* () {
    const { follow, newRun } = yield* make
    const { run_id, write } = yield* newRun
    const followers = yield* Effect.replicateEffect(follow(run_id), 100)
    yield* pass("250 millis")
    for (let second = 0; second < 8; second++) {
      for (let n = 0; n < 4; n++) {
        write(1_000 + second * 4 + n, "x".repeat(64 * 1024))
        yield* pass("250 millis")
      }
    }
    const sent = followers.reduce((sum, { got }) => sum + textOf(got).length, 0)
    expect(sent).toBeGreaterThan(64_000_000)
    expect(sent).toBeLessThan(8 * 16_000_000 + 100 * 64 * 1024)
  })

  it.effect("get a sign of life every 15 seconds", function* () {
    const { follow, newRun } = yield* make
    const { take } = yield* follow((yield* newRun).run_id)
    take()
    yield* pass("14 seconds")
    expect(take()).toEqual([])
    yield* pass("1 seconds")
    expect(take()).toEqual([{ _tag: "Idle" }])
  })

  it.effect("cost nothing when they are gone, or wait for nothing", function* () {
    const { ends, follow, followSlowly, newRun, reads } = yield* make
    yield* pass("10 seconds")
    expect(reads).toEqual([])
    const { run_id } = yield* newRun
    yield* Effect.scoped(follow(run_id))
    const slow = yield* newRun
    yield* followSlowly(slow.run_id)
    yield* pass("1 seconds")
    reads.splice(0)
    yield* pass("10 seconds")
    expect(reads).toEqual([])
    expect([...ends.keys()]).toEqual([slow.run_id])
  })

  it.effect("are let go at a shutdown", function* () {
    const { follow, newRun, shutdown } = yield* make
    const { ended } = yield* follow((yield* newRun).run_id)
    expect(ended.pollUnsafe()).toBeUndefined()
    yield* shutdown.stopWaiting
    yield* settle
    expect(ended.pollUnsafe()).toBeDefined()
  })
})
