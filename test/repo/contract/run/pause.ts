import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { NotFound } from "../../../../src/domain/Errors.ts"
import { type Change, subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  admitNext,
  at,
  count,
  createWebhook,
  drain,
  endOne,
  laneTeams,
  newMessage,
  newRun,
  ops,
  outIds,
  queueRun,
  sendRun,
  step,
  success,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const pause = (test: Test): void => {
  test("shows since when a team is paused, and says that it is none once it was resumed", function* () {
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

  test("accepts runs of a paused team and admits none, and all of them in order when it is resumed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const elsewhere = yield* createWebhook({ team: team("other") })
    const sent = yield* sendRun(webhook, 0)
    const ids = [yield* queueRun(webhook)]
    const other = yield* queueRun(elsewhere)
    yield* repo.pauseTeam(ops, at(10))
    ids.push(yield* queueRun(webhook))
    expect(yield* laneTeams).toEqual(["other"])
    yield* endOne(sent, success("done"), 15)
    expect(yield* admitNext([ops, team("other")], {}, 20)).toEqual([other])
    expect((yield* repo.team(ops)).queued).toBe(2)
    const message = yield* newMessage()
    expect((yield* step({ accepts: [message] })).admitted).toEqual([])

    const changes = yield* subscribe(repo)
    yield* repo.resumeTeam(ops, at(30))
    const wakes = (change: Change) => change._tag === "RunAccepted" && change.team === ops
    yield* Stream.runHead(Stream.filter(Stream.fromQueue(changes), wakes))
    expect(yield* laneTeams).toEqual(["ops"])
    expect(yield* drain()).toEqual([...ids, message.run_id])
  })

  test("admits nothing after a pause, whatever is being accepted and admitted meanwhile", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    for (const round of count(15)) {
      const run = yield* newRun(webhook)
      const pausing = Effect.andThen(repo.pauseTeam(ops, at(round)), outIds)
      const [before] = yield* Effect.all([pausing, step({ accepts: [run] }), admitNext()], together)
      expect(yield* outIds).toEqual(before)
      yield* repo.resumeTeam(ops, at(round))
      yield* endOne(run.run_id, success("done"), round)
    }
  })

  test("lets the time of what waits for a leader stand still during a pause, and start again after it", function* () {
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
}
