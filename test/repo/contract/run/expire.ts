import { expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { noLeaderInTime } from "../../../../src/domain/run/Run.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acquireTerm,
  admitAll,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  failure,
  newRun,
  queueRun,
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
  test(
    "ends a run whose caller waits at its deadline, sent or not, and not before",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const waiting = { mode: "wait", deadline_at: at(1_000) } as const
      const queued = yield* queueRun(webhook, waiting)
      const sent = yield* sendRun(webhook, yield* acquireTerm, 10, waiting)
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
      expect((yield* repo.lane(webhook.team, 9)).map((run) => run.run_id)).toEqual([patient])
    })
  )

  test(
    "ends a run that waits for a leader when there is none by then, and no run that was admitted",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const other = yield* createWebhook({ team: team("running") })
      const until = { deadline_at: at(1_000) } as const
      const admitted = yield* queueRun(webhook, until)
      const [inVain, later] = [yield* queueRun(webhook, until), yield* queueRun(webhook, { deadline_at: at(1_001) })]
      const elsewhere = yield* queueRun(other, until)
      const waits = yield* queueRun(other, { mode: "wait", deadline_at: at(1_000) })
      yield* admitOne(admitted, yield* acquireTerm)
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
  )

  test(
    "lets a fire-and-forget run wait in its lane forever",
    Effect.gen(function* () {
      const queued = yield* queueRun(yield* createWebhook(), seconds(1))
      expect(yield* expired(1_000_000)).toEqual([])
      expect(yield* statusOf(queued)).toBe("queued")
    })
  )

  test(
    "ends an admitted run that nobody knows to be sent one timeout after that, but not one that was not sent",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const admitted = yield* queueRun(webhook, seconds(1))
      const notSent = yield* queueRun(webhook, seconds(1))
      expect(yield* admitAll([admitted, notSent], term, 10)).toEqual(new Set([admitted, notSent]))
      const run = yield* newRun(webhook, seconds(2))
      const admission = { term, run_ids: new Set([run.run_id]), at: at(20) }
      expect(yield* repo.accept([run], { maxQueued: 9, admission })).toMatchObject([{ right: { admitted: true } }])
      expect(yield* expired(1_009)).toEqual([])
      expect((yield* repo.expire(at(1_010), { notSent: [notSent] })).map((run) => run.run_id)).toEqual([admitted])
      expect(yield* statusOf(notSent)).toBe("queued")
      expect(yield* expired(1_010)).toEqual([notSent])
      expect(yield* expired(2_019)).toEqual([])
      expect(yield* expired(2_020)).toEqual([run.run_id])
    })
  )

  test(
    "ends a fire-and-forget run of a team that does nothing, one timeout after it was sent",
    Effect.gen(function* () {
      const id = yield* sendRun(yield* createWebhook(), yield* acquireTerm, 100, seconds(1))
      expect(yield* expired(1_099)).toEqual([])
      expect(yield* expired(1_100)).toEqual([id])
    })
  )

  test(
    "ends a fire-and-forget run one timeout after it started, whatever else the team does",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const id = yield* sendRun(webhook, term, 0, seconds(1))
      yield* startedOne(id, 500)
      const other = yield* sendRun(webhook, term, 0, seconds(9))
      yield* startedOne(other, 600)
      expect(yield* expired(1_499)).toEqual([])
      expect(yield* expired(1_500)).toEqual([id])
    })
  )

  test(
    "pauses the clock while the team works on an earlier run",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const working = yield* sendRun(webhook, term, 0, seconds(5))
      yield* startedOne(working, 0)
      const behind = yield* sendRun(webhook, term, 0, seconds(1))
      const elsewhere = yield* sendRun(yield* createWebhook({ team: team("other") }), term, 0, seconds(1))
      expect(yield* expired(1_000)).toEqual([elsewhere])
      expect(yield* expired(4_999)).toEqual([])
      // The other run's own deadline; the clock of the one behind it starts when the leader is done with that.
      expect(yield* expired(5_000)).toEqual([working])
      yield* endOne(working, failure("stopped"), 5_000)
      expect(yield* expired(5_999)).toEqual([])
      expect(yield* expired(6_000)).toEqual([behind])
    })
  )

  test(
    "ends a run that the team has passed over: a later run does not pause its clock",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const lost = yield* sendRun(webhook, term, 0, seconds(1))
      const answered = yield* sendRun(webhook, term, 0, seconds(9))
      const working = yield* sendRun(webhook, term, 0, seconds(9))
      yield* endOne(answered, success("done"), 500)
      yield* startedOne(working, 600)
      expect(yield* expired(999)).toEqual([])
      expect(yield* expired(1_000)).toEqual([lost])
    })
  )

  test(
    "starts the clock again when the team gives an answer",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const first = yield* sendRun(webhook, term, 0, seconds(9))
      const behind = yield* sendRun(webhook, term, 10, seconds(1))
      yield* endOne(first, success("done"), 800)
      expect(yield* expired(1_010)).toEqual([])
      expect(yield* expired(1_799)).toEqual([])
      expect(yield* expired(1_800)).toEqual([behind])
    })
  )

  test(
    "does not count an answer that was given before the run was sent",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const before = yield* sendRun(webhook, term, 0)
      yield* endOne(before, success("done"), 50)
      const id = yield* sendRun(webhook, term, 100, seconds(1))
      expect(yield* expired(1_100)).toEqual([id])
    })
  )

  test(
    "records one of a timeout and an answer at the same moment, and both say the same",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      for (const _ of count(30)) {
        const id = yield* sendRun(webhook, term, 0, { mode: "wait", deadline_at: at(1_000) })
        const [ended, expired] = yield* Effect.all(
          [endOne(id, success("answer"), 1_000), repo.expire(at(1_000))],
          together
        )
        expect(Number(ended.recorded) + expired.length).toBe(1)
        expect(yield* statusOf(id)).toBe(ended.recorded ? "success" : "timeout")
        expect((yield* repo.run(id)).conversation.response).toBe("answer")
      }
    })
  )
}
