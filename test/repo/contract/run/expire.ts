import { expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { noLeaderInTime } from "../../../../src/domain/run/Run.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  queueRun,
  releaseOne,
  sendRun,
  sentOne,
  startedOne,
  statusOf,
  success,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const seconds = (n: number) => ({ timeout: Duration.seconds(n) })

/** The runs that expire at `ms`. */
const expired = (ms: number) =>
  Effect.flatMap(Repo, (repo) => Effect.map(repo.expire(at(ms)), (runs) => runs.map((run) => run.run_id).sort()))

export const expire = (test: Test): void => {
  test("ends a run whose caller waits at its deadline, sent or not, and not before", function* () {
    const webhook = yield* createWebhook()
    const waiting = { mode: "wait", deadline_at: at(1_000) } as const
    const queued = yield* queueRun(webhook, waiting)
    const sent = yield* sendRun(yield* createWebhook({ team: team("other") }), 10, waiting)
    const patient = yield* queueRun(webhook, { mode: "wait", deadline_at: at(2_000) })
    expect(yield* expired(999)).toEqual([])
    expect(yield* expired(1_000)).toEqual([queued, sent].sort())
    expect(yield* expired(1_001)).toEqual([])
    const repo = yield* Repo
    expect(yield* repo.run(sent)).toMatchObject({
      status: "timeout",
      started_at: at(10),
      finished_at: at(1_000),
      duration_ms: 990
    })
    expect(yield* statusOf(patient)).toBe("queued")
  })

  test("ends a run that waits for a leader when there is none by then, and no run that was admitted", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook({ team: team("running") })
    const until = { deadline_at: at(1_000) } as const
    const admitted = yield* queueRun(webhook, until)
    yield* admitOne(admitted)
    const [inVain, later] = [yield* queueRun(webhook, until), yield* queueRun(webhook, { deadline_at: at(1_001) })]
    const elsewhere = yield* queueRun(other, until)
    const waits = yield* queueRun(other, { mode: "wait", deadline_at: at(1_000) })
    const ends = (ms: number, teams: ReadonlyArray<typeof webhook.team>) =>
      Effect.map(repo.expire(at(ms), { stopped: teams }), (runs) => runs.map(({ run_id }) => run_id).sort())
    expect(yield* ends(999, [webhook.team])).toEqual([])
    expect(yield* ends(1_000, [webhook.team, team("third")])).toEqual([inVain, waits].sort())
    expect(yield* repo.run(inVain)).toMatchObject({
      status: "error",
      finished_at: at(1_000),
      error: { code: "team_not_running", message: noLeaderInTime.message }
    })
    expect(Object.keys(yield* repo.run(inVain))).not.toContain("started_at")
    expect(yield* statusOf(waits)).toBe("timeout")
    expect(yield* ends(50_000, [])).toEqual([])
    expect(yield* ends(50_000, [team("running")])).toEqual([elsewhere])
    expect(yield* ends(50_000, [webhook.team])).toEqual([later])
    // Once admitted, it has the clock of any run.
    yield* sentOne(admitted, 50_000)
    expect(yield* ends(109_999, [webhook.team])).toEqual([])
    expect(yield* ends(110_000, [])).toEqual([admitted])
    expect(yield* statusOf(admitted)).toBe("timeout")
  })

  test("lets a fire-and-forget run wait in its lane forever", function* () {
    const queued = yield* queueRun(yield* createWebhook(), seconds(1))
    expect(yield* expired(1_000_000)).toEqual([])
    expect(yield* statusOf(queued)).toBe("queued")
  })

  test("leaves a fire-and-forget run that is not known to be sent: its clock starts when it is", function* () {
    const id = yield* queueRun(yield* createWebhook(), seconds(1))
    yield* admitOne(id)
    expect(yield* expired(1_000_000)).toEqual([])
    expect(yield* statusOf(id)).toBe("queued")
    yield* sentOne(id, 1_000_000)
    expect(yield* expired(1_000_999)).toEqual([])
    expect(yield* expired(1_001_000)).toEqual([id])
  })

  test("ends a fire-and-forget run that has not started one timeout after it was sent", function* () {
    const id = yield* sendRun(yield* createWebhook(), 100, seconds(1))
    expect(yield* expired(1_099)).toEqual([])
    expect(yield* expired(1_100)).toEqual([id])
  })

  test("ends a fire-and-forget run one timeout after it started", function* () {
    const id = yield* sendRun(yield* createWebhook(), 0, seconds(1))
    yield* startedOne(id, 500)
    expect(yield* expired(1_499)).toEqual([])
    expect(yield* expired(1_500)).toEqual([id])
  })

  test("records one of a timeout and an answer at the same moment, and both say the same", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    for (const _ of count(30)) {
      const id = yield* sendRun(webhook, 0, { mode: "wait", deadline_at: at(1_000) })
      const [ended, expired] = yield* Effect.all(
        [endOne(id, success("answer"), 1_000), repo.expire(at(1_000))],
        together
      )
      expect(Number(ended.recorded) + expired.length).toBe(1)
      expect(yield* statusOf(id)).toBe(ended.recorded ? "success" : "timeout")
      expect((yield* repo.run(id)).conversation.response).toBe("answer")
      yield* releaseOne(id, 1_001)
    }
  })
}
