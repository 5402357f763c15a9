import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { NotFound } from "../../../../src/domain/Errors.ts"
import type { RunId } from "../../../../src/domain/Id.ts"
import { type Change, subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acquireTerm,
  admitAll,
  admitOne,
  at,
  count,
  createWebhook,
  newRun,
  ops,
  queueRun,
  sendRun,
  statusOf,
  team,
  together,
  unlimited
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

/** The ids of the next runs in the lane. */
const lane = Effect.flatMap(Repo, (repo) => Effect.map(repo.lane(ops, 9), (runs) => runs.map(({ run_id }) => run_id)))

export const pause = (test: Test): void => {
  test(
    "shows since when a team is paused, and says that it is none once it was resumed",
    Effect.gen(function* () {
      const repo = yield* Repo
      yield* repo.createTeam(ops, at(0))
      const paused = { team: "ops", queued: 0, created_at: at(0), paused_at: at(10) }
      expect(yield* repo.pauseTeam(ops, at(10))).toEqual(paused)
      expect(yield* repo.pauseTeam(ops, at(20))).toEqual(paused)
      expect([yield* repo.team(ops), ...(yield* repo.teams)]).toEqual([paused, paused])
      const { paused_at: _, ...resumed } = paused
      expect(yield* repo.resumeTeam(ops, at(30))).toEqual(resumed)
      expect(yield* repo.resumeTeam(ops, at(40))).toEqual(resumed)
      for (const change of [repo.pauseTeam, repo.resumeTeam]) {
        expect(yield* Effect.flip(change(team("none"), at(50)))).toEqual(new NotFound())
      }
    })
  )

  test(
    "gives and admits nothing of a paused team, and all of it in order when it is resumed",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const elsewhere = yield* createWebhook({ team: team("other") })
      const term = yield* acquireTerm
      const sent = yield* sendRun(webhook, term, 0)
      const admitted = yield* queueRun(webhook)
      yield* admitOne(admitted, term)
      const ids = [yield* queueRun(webhook), yield* queueRun(webhook)]
      const other = yield* queueRun(elsewhere)
      yield* repo.pauseTeam(ops, at(10))
      ids.push(yield* queueRun(webhook))
      expect(yield* repo.lanes).toEqual(["other"])
      expect(yield* lane).toEqual([])
      expect(yield* admitAll([...ids, other], term, 20)).toEqual(new Set([other]))
      // Runs admitted before are in flight, and may be sent again.
      expect(yield* admitAll([admitted], term, 21)).toEqual(new Set([admitted]))
      expect((yield* repo.inFlight).map(({ run_id }) => run_id)).toEqual([sent, admitted, other])
      expect((yield* repo.team(ops)).queued).toBe(3)

      const changes = yield* subscribe(repo)
      yield* repo.resumeTeam(ops, at(30))
      const wakes = (change: Change) => change._tag === "RunAccepted" && change.team === ops
      yield* Stream.runHead(Stream.filter(Stream.fromQueue(changes), wakes))
      expect(yield* repo.lanes).toEqual(["ops"])
      expect(yield* lane).toEqual(ids)
      expect(yield* admitAll(ids, term, 40)).toEqual(new Set(ids))
    })
  )

  test(
    "accepts runs of a paused team without admitting them, and of another one as asked for",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const elsewhere = yield* createWebhook({ team: team("other") })
      const term = yield* acquireTerm
      yield* repo.pauseTeam(ops, at(10))
      const runs = [yield* newRun(webhook), yield* newRun(elsewhere)] as const
      const admission = { term, run_ids: new Set(runs.map(({ run_id }) => run_id)), at: at(20) }
      expect(yield* repo.accept(runs, { ...unlimited, admission })).toMatchObject([
        { right: { admitted: false } },
        { right: { admitted: true } }
      ])
      expect(yield* statusOf(runs[0].run_id)).toBe("queued")
    })
  )

  test(
    "admits nothing after a pause, whatever is being accepted and admitted meanwhile",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const inFlight = Effect.map(repo.inFlight, (runs) => runs.length)
      for (const round of count(15)) {
        const queued = yield* queueRun(webhook)
        const run = yield* newRun(webhook)
        const admission = { term, run_ids: new Set<RunId>([run.run_id]), at: at(round) }
        const pausing = Effect.zipRight(repo.pauseTeam(ops, at(round)), inFlight)
        const accepting = repo.accept([run], { ...unlimited, admission })
        const [before] = yield* Effect.all([pausing, admitOne(queued, term), accepting], together)
        expect(yield* inFlight).toBe(before)
        yield* repo.resumeTeam(ops, at(round))
        yield* admitAll(yield* lane, term, round)
      }
    })
  )

  test(
    "lets the time of what waits for a leader stand still during a pause, and start again after it",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const before = yield* queueRun(webhook, { deadline_at: at(1_000) })
      const waits = yield* queueRun(webhook, { mode: "wait", deadline_at: at(1_000) })
      yield* repo.pauseTeam(ops, at(900))
      const during = yield* queueRun(webhook, { accepted_at: at(2_000), deadline_at: at(2_500) })
      const ends = (ms: number) =>
        Effect.map(repo.expire(at(ms), { stopped: [ops] }), (runs) => runs.map(({ run_id }) => run_id))
      // A caller's own deadline counts.
      expect(yield* ends(60_000)).toEqual([waits])
      yield* repo.resumeTeam(ops, at(100_000))
      const after = yield* queueRun(webhook, { accepted_at: at(100_100), deadline_at: at(100_200) })
      expect(yield* ends(100_199)).toEqual([])
      expect(yield* ends(100_200)).toEqual([after])
      expect(yield* ends(100_499)).toEqual([])
      expect(yield* ends(100_500)).toEqual([during])
      expect(yield* ends(100_999)).toEqual([])
      expect(yield* ends(101_000)).toEqual([before])
    })
  )
}
