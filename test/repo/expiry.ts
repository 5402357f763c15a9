import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import { admit, at, makeHook, queue, send, statusOf, success, takeTerm, team } from "./fixtures.ts"

const second = { timeout_ms: 1_000 }

export const expiry = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))
  const expired = (ms: number) =>
    Effect.flatMap(Repo, (repo) => Effect.map(repo.expire(at(ms)), (runs) => runs.map((run) => run.run_id).sort()))

  describe("expire", () => {
    test(
      "ends a run that waits at its deadline, sent or not, and not before",
      Effect.gen(function* () {
        const hook = yield* makeHook()
        const waiting = { mode: "wait", deadline_at: at(1_000) } as const
        const queued = yield* queue(hook, waiting)
        const sent = yield* send(hook, yield* takeTerm, at(10), waiting)
        const patient = yield* queue(hook, { mode: "wait", deadline_at: at(2_000) })
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
        expect((yield* repo.lane(hook.team, 9)).map((run) => run.run_id)).toEqual([patient])
      })
    )

    test(
      "lets a fire-and-forget run wait in its lane for ever",
      Effect.gen(function* () {
        const hook = yield* makeHook()
        const queued = yield* queue(hook, second)
        const admitted = yield* queue(hook, second)
        yield* admit(admitted, yield* takeTerm)
        expect(yield* expired(1_000_000)).toEqual([])
        expect(yield* statusOf(queued)).toBe("queued")
      })
    )

    test(
      "ends a fire-and-forget run of a team that does nothing, one timeout after it was sent",
      Effect.gen(function* () {
        const hook = yield* makeHook()
        const id = yield* send(hook, yield* takeTerm, at(100), second)
        expect(yield* expired(1_099)).toEqual([])
        expect(yield* expired(1_100)).toEqual([id])
      })
    )

    test(
      "ends a fire-and-forget run one timeout after it started, whatever the team does else",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const id = yield* send(hook, term, at(0), second)
        yield* repo.started(id, at(500))
        const other = yield* send(hook, term, at(0), { timeout_ms: 9_000 })
        yield* repo.started(other, at(600))
        expect(yield* expired(1_499)).toEqual([])
        expect(yield* expired(1_500)).toEqual([id])
      })
    )

    test(
      "lets the clock stand still while the team is at work on another run",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const working = yield* send(hook, term, at(0), { timeout_ms: 5_000 })
        yield* repo.started(working, at(0))
        const behind = yield* send(hook, term, at(0), second)
        const elsewhere = yield* send(yield* makeHook({ team: team("other") }), term, at(0), second)
        expect(yield* expired(1_000)).toEqual([elsewhere])
        expect(yield* expired(4_999)).toEqual([])
        // The other run's own deadline; the clock of the one behind it starts there.
        expect(yield* expired(5_000)).toEqual([working])
        expect(yield* expired(5_999)).toEqual([])
        expect(yield* expired(6_000)).toEqual([behind])
      })
    )

    test(
      "ends a run that the team has passed over: a later one says nothing for it",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const lost = yield* send(hook, term, at(0), second)
        const answered = yield* send(hook, term, at(0), { timeout_ms: 9_000 })
        const working = yield* send(hook, term, at(0), { timeout_ms: 9_000 })
        yield* repo.end(answered, success("done"), at(500))
        yield* repo.started(working, at(600))
        expect(yield* expired(999)).toEqual([])
        expect(yield* expired(1_000)).toEqual([lost])
      })
    )

    test(
      "starts the clock anew when the team gives an answer",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const first = yield* send(hook, term, at(0), { timeout_ms: 9_000 })
        const behind = yield* send(hook, term, at(10), second)
        yield* repo.end(first, success("done"), at(800))
        expect(yield* expired(1_010)).toEqual([])
        expect(yield* expired(1_799)).toEqual([])
        expect(yield* expired(1_800)).toEqual([behind])
      })
    )

    test(
      "does not count an answer that was given before the run was sent, nor a timeout",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const before = yield* send(hook, term, at(0))
        yield* repo.end(before, success("done"), at(50))
        const id = yield* send(hook, term, at(100), second)
        const dead = yield* send(hook, term, at(0))
        yield* repo.end(dead, { status: "timeout" }, at(900))
        expect(yield* expired(1_100)).toEqual([id])
      })
    )

    test(
      "and an answer at the same moment: one of them is recorded, and all are told the same",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        for (let round = 0; round < 30; round++) {
          const id = yield* send(hook, term, at(0), { mode: "wait", deadline_at: at(1_000) })
          const [ended, expired] = yield* Effect.all(
            [repo.end(id, success("answer"), at(1_000)), repo.expire(at(1_000))],
            { concurrency: "unbounded" }
          )
          expect(Number(ended.recorded) + expired.length).toBe(1)
          expect(yield* statusOf(id)).toBe(ended.recorded ? "success" : "timeout")
          expect((yield* repo.run(id)).conversation.response).toBe("answer")
        }
      })
    )
  })
}
