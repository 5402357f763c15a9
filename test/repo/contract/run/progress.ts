import { expect } from "@effect/vitest"
import { Array as Arr, Effect } from "effect"
import { makeRunId, type RunId } from "../../../../src/domain/Id.ts"
import { keptSteps } from "../../../../src/domain/run/Step.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { keptText, type ProgressReport, shortestReport } from "../../../../src/repo/run/ProgressStore.ts"
import {
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  queueRun,
  releaseOne,
  startedOne,
  success,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const report = (run_id: RunId, seq: number, fields: Partial<ProgressReport> = {}): ProgressReport => ({
  run_id,
  first_seq: seq,
  seq,
  ...fields
})

/** What a reader learns whose mark is this position. */
const newsAfter = (run_id: RunId, mark: number) =>
  Effect.flatMap(Repo, (repo) =>
    Effect.map(repo.newsOf([{ run_id, position: mark }]), ([news]) => {
      const { activity, kept_after = 0, position = mark, texts = [] } = news?.progress ?? {}
      return {
        position,
        isAnew: mark !== 0 && (mark < kept_after || mark > position),
        ...(texts.length > 0 && { text: texts.map(({ text }) => text).join("") }),
        ...(activity !== undefined && { activity: activity.text })
      }
    })
  )

/** What a reader has read that reads now and then. */
const makeReader = (run_id: RunId) => {
  let position = 0
  let text = ""
  return {
    read: Effect.suspend(() => newsAfter(run_id, position)).pipe(
      Effect.map((news) => {
        position = news.position
        text = (news.isAnew ? "" : text) + (news.text ?? "")
        return text
      })
    )
  }
}

export const progress = (test: Test): void => {
  test("append text, and show what there is after a position", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    expect(yield* newsAfter(id, 0)).toEqual({ position: 0, isAnew: false })
    yield* repo.addProgress([report(id, 0, { text: "Hello ", activity: "Greeting" })])
    const first = yield* newsAfter(id, 0)
    expect(first).toEqual({
      position: first.position,
      isAnew: false,
      text: "Hello ",
      activity: "Greeting"
    })
    yield* repo.addProgress([report(id, 1, { text: "wörld 🦊" })])
    yield* repo.addProgress([report(id, 2, { activity: "Waving" })])
    const second = yield* newsAfter(id, first.position)
    expect(second).toEqual({ ...second, isAnew: false, text: "wörld 🦊", activity: "Waving" })
    expect(second.position).toBeGreaterThan(first.position)
    expect(yield* newsAfter(id, 0)).toEqual({ ...second, text: "Hello wörld 🦊" })
    expect(yield* newsAfter(id, second.position)).toEqual({ position: second.position, isAnew: false })
  })

  test("show when the run started, and nothing of a run that does not exist", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    yield* admitOne(id)
    yield* startedOne(id, 300)
    const marks = [id, yield* makeRunId].map((run_id) => ({ run_id, position: 0 }))
    expect(yield* repo.newsOf(marks)).toEqual([{ run_id: id, started_at: at(300) }])
  })

  test("begin anew when the work starts over", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    const reader = makeReader(id)
    yield* repo.addProgress([report(id, 0, { text: "first ", seq: 3 })])
    expect(yield* reader.read).toBe("first ")
    yield* repo.addProgress([report(id, 4, { text: "try" })])
    yield* repo.addProgress([report(id, 0, { text: "second " })])
    expect(yield* reader.read).toBe("second ")
    yield* repo.addProgress([report(id, 1, { text: "try" })])
    expect(yield* reader.read).toBe("second try")
    expect((yield* newsAfter(id, 0)).text).toBe("second try")
  })

  test("keep the newest text, and report a gap to those who have not read the rest", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    const [quick, slow] = [makeReader(id), makeReader(id)]
    yield* repo.addProgress([report(id, 0, { text: "0" })])
    yield* slow.read
    const piece = keptText / 4
    const texts = count(10).map((n) => String(n).repeat(piece))
    for (const [index, text] of texts.entries()) {
      yield* repo.addProgress([report(id, index + 1, { text })])
      expect(yield* quick.read).toBe(`0${texts.slice(0, index + 1).join("")}`)
    }
    expect(yield* slow.read).toBe(texts.slice(-4).join(""))
    expect((yield* newsAfter(id, 0)).text).toBe(texts.slice(-4).join(""))
  })

  test("count a short report as a longer one", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    yield* repo.addProgress([report(id, 0, { text: "first", activity: "Working" })])
    const text = "x".repeat(keptText - shortestReport)
    yield* repo.addProgress([report(id, 1, { text })])
    expect((yield* newsAfter(id, 0)).text).toBe(`first${text}`)
    yield* repo.addProgress([report(id, 2, { text: "." })])
    expect(yield* newsAfter(id, 0)).toMatchObject({ text: `${text}.`, activity: "Working" })
  })

  test("give a position that is beyond the last the whole text", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    yield* repo.addProgress([report(id, 0, { text: "all", activity: "Working" })])
    const { position } = yield* newsAfter(id, 0)
    expect(yield* newsAfter(id, position + 1_000)).toEqual({
      position,
      isAnew: true,
      text: "all",
      activity: "Working"
    })
  })

  test("are stored for several runs at once, from several servers", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const ids = yield* Effect.replicateEffect(queueRun(webhook), 5)
    const all = (order: ReadonlyArray<RunId>, seq: number) => order.map((id) => report(id, seq, { text: "." }))
    yield* Effect.all(
      count(20).map((seq) => repo.addProgress(all(seq % 2 ? ids : ids.toReversed(), seq + 1))),
      together
    )
    const news = yield* repo.newsOf(ids.map((run_id) => ({ run_id, position: 0 })))
    expect(news.map(({ run_id, progress }) => [run_id, (progress?.texts ?? []).length > 0]).toSorted()).toEqual(
      ids.map((run_id) => [run_id, true]).toSorted()
    )
  })

  test("are not stored for a run that has ended or does not exist, and are removed after its end", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [ended, live] = [yield* queueRun(webhook), yield* queueRun(webhook)]
    yield* repo.addProgress([ended, live].map((id) => report(id, 0, { text: "before" })))
    yield* endOne(ended, success("done"), 1_000)
    yield* repo.addProgress([ended, yield* makeRunId].map((id) => report(id, 1, { text: "after" })))
    yield* repo.removeProgress(at(1_000))
    expect((yield* newsAfter(ended, 0)).text).toBe("before")
    yield* repo.removeProgress(at(1_001))
    expect((yield* newsAfter(ended, 0)).text).toBeUndefined()
    expect((yield* newsAfter(live, 0)).text).toBe("before")
  })

  const steps = (...titles: ReadonlyArray<string>): Partial<ProgressReport> => ({
    steps: titles.map((title) => ({ kind: "tool", title, detail: "in".repeat(500), at: "2026-01-02T03:04:05.678Z" }))
  })
  const stepsOf = (run_id: RunId) =>
    Effect.flatMap(Repo, (repo) => Effect.map(repo.stepsOf([run_id]), (all) => all.get(run_id) ?? []))

  test("have steps, which are kept with the run until it is removed, and stay when the work starts over", function* () {
    const repo = yield* Repo
    const [id, other] = [yield* queueRun(yield* createWebhook()), yield* queueRun(yield* createWebhook())]
    yield* repo.addProgress([
      report(id, 3, { text: "I look.", ...steps("Bash: ls") }),
      report(other, 0, { text: "no" })
    ])
    const { position } = yield* newsAfter(id, 0)
    yield* repo.addProgress([report(id, 0, steps("Bash: pwd", "Bash: id"))])
    expect((yield* stepsOf(id)).map(({ title }) => title)).toEqual(["Bash: ls", "Bash: pwd", "Bash: id"])
    expect(yield* stepsOf(other)).toEqual([])
    const [news] = yield* repo.newsOf([{ run_id: id, position }])
    expect(news!.progress!.steps.flatMap(({ steps }) => steps.map(({ title }) => title))).toEqual([
      "Bash: pwd",
      "Bash: id"
    ])
    yield* endOne(id, success("done"), 1_000)
    yield* repo.removeProgress(at(2_000))
    expect(yield* stepsOf(id)).toHaveLength(3)
    expect(yield* repo.purge(at(2_000))).toBe(1)
    expect(yield* stepsOf(id)).toEqual([])
  })

  test("keep the newest steps: the oldest lose their details, then they are removed", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    const titles = count(900).map((i) => `step ${i}`)
    for (const [seq, some] of Arr.chunksOf(titles, 30).entries())
      yield* repo.addProgress([report(id, seq, steps(...some))])
    const kept = yield* stepsOf(id)
    expect(kept.map(({ title }) => title)).toEqual(titles.slice(-kept.length))
    const whole = kept.filter(({ detail }) => detail !== undefined)
    expect(kept.slice(-whole.length)).toEqual(whole)
    expect(whole.length).toBeGreaterThan(100)
    expect(kept.length).toBeGreaterThan(whole.length + 200)
    expect(kept.length).toBeLessThan(900)
    expect(JSON.stringify(kept).length).toBeLessThan(keptSteps * 1.1)
  })

  test("add steps until the run is released, and name the last one in a run that times out", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const id = yield* queueRun(webhook)
    yield* admitOne(id)
    yield* startedOne(id, 500)
    yield* repo.addProgress([report(id, 0, steps("Bash: ls", "Retrying: 429 (4 of 10)"))])
    yield* endOne(id, { status: "timeout" }, 1_000)
    expect(yield* repo.run(id)).toMatchObject({ status: "timeout", last_step: "Retrying: 429 (4 of 10)" })
    yield* repo.addProgress([report(id, 1, steps("Bash: pwd"))])
    yield* releaseOne(id, 2_000)
    yield* repo.addProgress([report(id, 2, steps("Bash: id"))])
    expect((yield* stepsOf(id)).map(({ title }) => title)).toEqual(["Bash: ls", "Retrying: 429 (4 of 10)", "Bash: pwd"])
    expect((yield* repo.run(id)).error).toBeUndefined()
    const silent = yield* queueRun(webhook)
    yield* endOne(silent, { status: "timeout" }, 3_000)
    expect(yield* repo.run(silent)).not.toHaveProperty("last_step")
  })
}
