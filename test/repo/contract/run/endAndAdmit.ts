import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { makeRunId, type RunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { Term } from "../../../../src/repo/run/LeaseStore.ts"
import { acquireTerm, at, createWebhook, endOne, ops, outcomes, queueRun, sendRun, success } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

/** Ends `ending` with an answer and admits `next`, at `ms`. */
const endAndAdmit = (ending: ReadonlyArray<RunId>, next: ReadonlyArray<RunId>, term: Term, ms: number) =>
  Effect.flatMap(Repo, (repo) =>
    repo.endAndAdmit(
      ending.map((run_id) => ({ run_id, outcome: success("done"), at: at(ms) })),
      { term, run_ids: new Set(next), at: at(ms) }
    )
  )

export const endsThatAdmit = (test: Test): void => {
  test(
    "end runs and admit others in one, which have a deadline from then on",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const ending = [yield* sendRun(webhook, term, 1), yield* sendRun(webhook, term, 1)]
      const waits = yield* queueRun(webhook, { mode: "wait", deadline_at: at(4_000) })
      const [next, last] = [yield* queueRun(webhook), yield* queueRun(webhook)]
      const { admitted, ended } = yield* endAndAdmit(ending, [waits, next], term, 300)
      expect(ended.map(({ recorded, run }) => [recorded, run?.run_id, run?.status])).toEqual(
        ending.map((id) => [true, id, "success"])
      )
      expect(admitted).toEqual(new Set([waits, next]))
      expect((yield* repo.lane(ops, 9)).map(({ run_id }) => run_id)).toEqual([last])
      const [first, second] = yield* repo.inFlight
      expect([first?.deadline_at, second?.deadline_at]).toEqual([at(4_000), at(300 + second!.timeout_ms)])
      expect((yield* endOne(next, success("done"), 900)).run?.started_at).toEqual(at(300))
    })
  )

  test(
    "admit none when an end was not recorded, since its slots may not be free",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const next = yield* queueRun(webhook)
      for (const outcome of Object.values(outcomes)) {
        const [over, live] = [yield* sendRun(webhook, term, 1), yield* sendRun(webhook, term, 1)]
        yield* endOne(over, outcome, 2)
        const { admitted, ended } = yield* endAndAdmit([over, live], [next], term, 3)
        expect([ended.map(({ recorded }) => recorded), admitted]).toEqual([[false, true], new Set()])
      }
      const live = yield* sendRun(webhook, term, 1)
      const { admitted } = yield* endAndAdmit([live, yield* makeRunId], [next], term, 3)
      expect([admitted, (yield* repo.lane(ops, 9)).map(({ run_id }) => run_id)]).toEqual([new Set(), [next]])
    })
  )

  test(
    "admit none of a paused team, none that has ended or is unknown, and none in a term that is over",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const send = sendRun(webhook, term, 1)
      const [next, over] = [yield* queueRun(webhook), yield* queueRun(webhook)]
      yield* endOne(over, outcomes.timeout, 2)
      const admitted = (id: RunId, ids: ReadonlyArray<RunId>, mine: Term = term) =>
        Effect.map(endAndAdmit([id], ids, mine, 5), (answer) => [answer.ended[0]?.recorded, answer.admitted])
      const unknown = yield* makeRunId
      yield* repo.pauseTeam(ops, at(3))
      expect(yield* admitted(yield* send, [next])).toEqual([true, new Set()])
      yield* repo.resumeTeam(ops, at(4))
      expect(yield* admitted(yield* send, [next], term + 1)).toEqual([true, new Set()])
      expect(yield* admitted(yield* send, [over, unknown, next])).toEqual([true, new Set([next])])
    })
  )
}
