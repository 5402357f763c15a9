import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  admitOne,
  at,
  count,
  createWebhook,
  endAll,
  endOne,
  queueRun,
  sendRun,
  sentOne,
  startedOne,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

/** A run that is out, of a team of its own. */
const admitted = (name: string) =>
  Effect.flatMap(createWebhook({ team: team(name) }), (webhook) => Effect.tap(queueRun(webhook), (id) => admitOne(id)))

/** The times of runs whose end and start are recorded in any order, or together. */
export const endsWithTimes = (test: Test): void => {
  test("tell a start that was reported at the time of the sending, or before it, from none", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const outcome = success("done")
    const [silent, both, later] = [yield* admitted("silent"), yield* admitted("both"), yield* admitted("later")]
    const marked = yield* sendRun(webhook, 100)
    yield* startedOne(later, 100)
    yield* startedOne(marked, 100)
    yield* endAll([
      { run_id: silent, outcome, sent_at: at(100), at: at(400) },
      { run_id: both, outcome, sent_at: at(100), started_at: at(100), at: at(400) },
      { run_id: later, outcome, sent_at: at(150), at: at(400) },
      { run_id: marked, outcome, at: at(400) }
    ])
    expect(yield* repo.run(silent)).toMatchObject({ sent_at: at(100), started_at: at(100) })
    for (const id of [both, later, marked]) {
      expect(yield* repo.run(id)).toMatchObject({ sent_at: at(99), started_at: at(100) })
    }
  })

  test("record with an end when the run was sent and started, unless that is recorded already", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [unmarked, marked] = [yield* admitted("unmarked"), yield* sendRun(webhook, 100)]
    yield* startedOne(marked, 150)
    const end = { outcome: success("done"), sent_at: at(20), started_at: at(30), at: at(400) }
    yield* endAll([
      { ...end, run_id: unmarked },
      { ...end, run_id: marked }
    ])
    expect(yield* repo.run(unmarked)).toMatchObject({ sent_at: at(20), started_at: at(30), duration_ms: 370 })
    expect(yield* repo.run(marked)).toMatchObject({ sent_at: at(100), started_at: at(150), duration_ms: 250 })
  })

  test("give a start also to a run whose answer overtook the record that it was sent", function* () {
    const repo = yield* Repo
    const [answered, undelivered] = [yield* admitted("answered"), yield* admitted("undelivered")]
    yield* endOne(answered, success("quick"), 60)
    expect(yield* repo.run(answered)).toMatchObject({ started_at: at(0), duration_ms: 60 })
    yield* endOne(undelivered, { status: "error", error: { code: "undeliverable", message: "returned" } }, 60)
    expect(Object.keys(yield* repo.run(undelivered))).not.toContain("started_at")
  })

  test("are in order: a run that was answered before the broker's confirmation was sent when it was admitted", function* () {
    const repo = yield* Repo
    const outcome = success("quick")
    const [unconfirmed, late, reported, both, recorded] = yield* Effect.forEach(count(5), (n) => admitted(`team-${n}`))
    const ids = [unconfirmed!, late!, reported!, both!, recorded!] as const
    yield* sentOne(recorded!, 70)
    yield* endAll([
      { run_id: unconfirmed!, outcome, at: at(60) },
      { run_id: late!, outcome, sent_at: at(70), at: at(60) },
      { run_id: reported!, outcome, sent_at: at(70), started_at: at(50), at: at(60) },
      { run_id: both!, outcome, sent_at: at(70), started_at: at(80), at: at(60) },
      { run_id: recorded!, outcome, started_at: at(40), at: at(60) }
    ])
    const times = yield* Effect.forEach(ids, (id) => repo.run(id))
    expect(times.map(({ sent_at, started_at }) => [sent_at, started_at])).toEqual([
      [at(0), at(0)],
      [at(0), at(0)],
      [at(0), at(50)],
      [at(0), at(60)],
      [at(0), at(40)]
    ])
  })

  test("leave the record of a start alone, whichever came first", function* () {
    const repo = yield* Repo
    const one = yield* sendRun(yield* createWebhook(), 1)
    const two = yield* sendRun(yield* createWebhook({ team: team("other") }), 1)
    yield* startedOne(one, 5)
    yield* endOne(one, success("done"), 9)
    yield* endOne(two, success("done"), 6)
    yield* startedOne(two, 7)
    yield* sentOne(two, 8)
    expect(yield* repo.run(one)).toMatchObject({ status: "success", started_at: at(5), duration_ms: 4 })
    expect(yield* repo.run(two)).toMatchObject({ status: "success", started_at: at(1), duration_ms: 5 })
  })
}
