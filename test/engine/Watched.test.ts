import { Effect } from "effect"
import { makeRunId, type RunId } from "../../src/domain/Id.ts"
import * as Watched from "../../src/engine/Watched.ts"
import { ChangeFeed, makeChangeListeners } from "../../src/repo/ChangeFeed.ts"
import { advance } from "../../src/testing.ts"
import { describe, expect, it } from "../support/It.ts"

const make = Effect.gen(function* () {
  const looks: Array<ReadonlyArray<string>> = []
  const { listen, notify } = makeChangeListeners()
  const watched = yield* Watched.make<RunId, string, string>({
    atOnce: 3,
    concerned: (changes, entries) =>
      changes.flatMap((change) => (change._tag === "RunEnded" ? (entries.get(change.run_id) ?? []) : [])),
    look: (some) =>
      Effect.sync(() => {
        if (some.length > 0) looks.push(some.map(({ listeners, subject }) => [subject, ...listeners].join(" ")))
      })
  }).pipe(Effect.provideService(ChangeFeed, { listen, publish: () => Effect.void, ping: Effect.void }))
  const ids = yield* Effect.replicateEffect(makeRunId, 5)
  const end = (...those: ReadonlyArray<RunId>) => {
    notify(those.map((run_id) => ({ _tag: "RunEnded", run_id })))
    return advance("1 millis")
  }
  return { watched, ids, end, take: () => looks.splice(0) }
})

describe("what is watched", () => {
  it.effect("is looked at when a notification concerns it", function* () {
    const { end, ids, take, watched } = yield* make
    for (const [n, id] of ids.entries()) watched.add(id, `run ${n}`, "a")
    yield* end(ids[1]!, yield* makeRunId, ids[3]!)
    expect(take().flat()).toEqual(["run 1 a", "run 3 a"])
  })

  it.effect("is looked at in turn within seconds, if all notifications are lost", function* () {
    const { ids, take, watched } = yield* make
    for (const [n, id] of ids.entries()) watched.add(id, `run ${n}`, "a")
    yield* advance("999 millis")
    expect(take()).toEqual([])
    yield* advance("2 seconds")
    const [first, second] = [
      ["run 0 a", "run 1 a", "run 2 a"],
      ["run 3 a", "run 4 a"]
    ]
    expect(take()).toEqual([first, second])
    yield* advance("1 seconds")
    expect(take()).toEqual([first])
  })

  it.effect("is kept until its last listener is gone", function* () {
    const { ids, take, watched } = yield* make
    const id = ids[0]!
    const stop = ["a", "b"].map((name) => watched.add(id, `for ${name}`, name))
    stop[0]!()
    stop[0]!()
    yield* advance("1 seconds")
    expect(take()).toEqual([["for a b"]])
    stop[1]!()
    expect(watched.entries.size).toBe(0)
    watched.add(id, "for c", "c")
    stop[1]!()
    yield* advance("1 seconds")
    expect(take()).toEqual([["for c c"]])
  })
})
