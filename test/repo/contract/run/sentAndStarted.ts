import { expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { makeRunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  outRuns,
  queueRun,
  sendRun,
  sentOne,
  startedOne,
  statusOf,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const second = { timeout: Duration.seconds(1) }

export const sentAndStarted = (test: Test): void => {
  test("start the clock of a fire-and-forget run: when it is sent, and again when it starts", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook(), second)
    yield* admitOne(id)
    yield* sentOne(id, 100)
    const deadline = Effect.map(outRuns, (runs) => runs[0]?.deadline_at)
    expect(yield* deadline).toEqual(at(1_100))
    yield* startedOne(id, 700)
    expect(yield* deadline).toEqual(at(1_700))
    yield* startedOne(id, 900)
    expect(yield* deadline).toEqual(at(1_700))
    expect(yield* repo.run(id)).toMatchObject({ status: "running", sent_at: at(100), started_at: at(700) })
  })

  test("start the clock again when a run is sent again", function* () {
    const repo = yield* Repo
    const id = yield* sendRun(yield* createWebhook(), 100, second)
    yield* sentOne(id, 600)
    expect((yield* outRuns)[0]?.deadline_at).toEqual(at(1_600))
    expect((yield* repo.run(id)).sent_at).toEqual(at(600))
  })

  test("never move the deadline of a run whose caller waits", function* () {
    const waiting = { mode: "wait", deadline_at: at(5_000) } as const
    const id = yield* sendRun(yield* createWebhook(), 100, waiting)
    yield* startedOne(id, 200)
    expect((yield* outRuns)[0]?.deadline_at).toEqual(at(5_000))
  })

  test("may come in the other order, and leave alone what has ended", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook(), second)
    yield* admitOne(id)
    yield* startedOne(id, 50)
    yield* sentOne(id, 60)
    expect(yield* repo.run(id)).toMatchObject({ status: "running", sent_at: at(49), started_at: at(50) })
    expect((yield* outRuns)[0]?.deadline_at).toEqual(at(1_050))
    const ended = yield* queueRun(yield* createWebhook({ team: team("other") }))
    yield* admitOne(ended)
    yield* endOne(ended, success("quick"), 70)
    const before = yield* repo.run(ended)
    yield* sentOne(ended, 80)
    yield* startedOne(ended, 80)
    expect(yield* repo.run(ended)).toEqual(before)
    expect(before.status).toBe("success")
  })

  test("leave alone a run that was not admitted, and one that is unknown", function* () {
    const repo = yield* Repo
    const id = yield* queueRun(yield* createWebhook())
    const events = [
      { run_id: id, at: at(1) },
      { run_id: yield* makeRunId, at: at(1) }
    ]
    yield* repo.sent(events)
    yield* repo.started(events)
    expect(yield* repo.run(id)).not.toHaveProperty("sent_at")
    expect(yield* statusOf(id)).toBe("queued")
    expect(yield* repo.out).toEqual([])
  })

  test("mark many runs in one call, and the first mark of a run counts", function* () {
    const repo = yield* Repo
    const ids = yield* Effect.forEach(count(20), (n) =>
      Effect.flatMap(createWebhook({ team: team(`team-${n}`) }), (webhook) => queueRun(webhook))
    )
    for (const id of ids) yield* admitOne(id)
    const events = (ms: number) => ids.map((run_id, i) => ({ run_id, at: at(ms + i) }))
    yield* repo.sent([...events(100), ...events(500)])
    yield* repo.started([...events(200), ...events(600)])
    for (const [i, id] of ids.entries()) {
      const marked = { status: "running", sent_at: at(100 + i), started_at: at(200 + i) }
      expect(yield* repo.run(id)).toMatchObject(marked)
    }
    yield* repo.sent([])
    yield* repo.started([])
  })
}
