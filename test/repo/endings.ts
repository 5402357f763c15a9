import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { makeRunId } from "../../src/domain/Id.ts"
import { Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import { admit, at, failure, makeHook, queue, send, success, takeTerm, timeout } from "./fixtures.ts"

const all = { concurrency: "unbounded" } as const

export const endings = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))

  describe("end", () => {
    test(
      "keeps answer, error and times",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const answered = yield* send(hook, term, at(100))
        yield* repo.started(answered, at(150))
        const ending = yield* repo.end(answered, success("It's up \u{1f680}"), at(400))
        expect(ending.recorded).toBe(true)
        expect(ending.run).toEqual(Option.some(yield* repo.run(answered)))
        expect(Option.getOrThrow(ending.run)).toMatchObject({
          status: "success",
          sent_at: at(100),
          started_at: at(150),
          finished_at: at(400),
          duration_ms: 250,
          conversation: { prompt: "Deploy api", response: "It's up \u{1f680}" }
        })
        const failed = yield* send(hook, term, at(100))
        yield* repo.end(failed, failure("no such service"), at(300))
        expect(yield* repo.run(failed)).toMatchObject({
          status: "error",
          error: { code: "agent_error", message: "no such service" },
          started_at: at(100),
          duration_ms: 200
        })
        const never = yield* queue(hook)
        yield* repo.end(never, timeout, at(300))
        const run = yield* repo.run(never)
        expect(run).toMatchObject({ status: "timeout", finished_at: at(300) })
        expect(Object.keys(run)).not.toContain("started_at")
        expect(Object.keys(run)).not.toContain("duration_ms")
      })
    )

    test(
      "gives a start also to a run whose answer overtook the record of its sending",
      Effect.gen(function* () {
        const repo = yield* Repo
        const id = yield* queue(yield* makeHook())
        yield* admit(id, yield* takeTerm)
        yield* repo.end(id, success("quick"), new Date(Date.now() + 60_000))
        const run = yield* repo.run(id)
        expect(run.started_at).toBeInstanceOf(Date)
        expect(run.duration_ms).toBeGreaterThan(0)
      })
    )

    test(
      "is recorded once, of fifty at once, and all are told the same",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        for (let round = 0; round < 5; round++) {
          const id = yield* send(hook, term, at(1))
          const outcomes = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? success(`${i}`) : failure(`${i}`)))
          const results = yield* Effect.forEach(outcomes, (outcome, i) => repo.end(id, outcome, at(i + 2)), all)
          expect(results.filter((result) => result.recorded)).toHaveLength(1)
          const run = Option.some(yield* repo.run(id))
          for (const result of results) expect(result.run).toEqual(run)
        }
      })
    )

    test(
      "of many runs at once is told to each caller",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const ids = yield* Effect.forEach(Array.from({ length: 100 }), () => send(hook, term, at(1)), all)
        const results = yield* Effect.forEach(ids, (id) => repo.end(id, success(id), at(2)), all)
        for (const [i, { recorded, run }] of results.entries()) {
          expect(recorded).toBe(true)
          expect(Option.getOrThrow(run)).toMatchObject({ run_id: ids[i], conversation: { response: ids[i] } })
        }
      })
    )

    test(
      "by an answer that came after the timeout is kept in the conversation only, the first one",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const id = yield* send(hook, term, at(1))
        const [ended, late, later] = yield* Effect.all(
          [
            repo.end(id, timeout, at(10)),
            repo.end(id, success("late"), at(20)),
            repo.end(id, success("later"), at(30))
          ],
          all
        )
        expect([ended.recorded, late.recorded, later.recorded]).toEqual([true, false, false])
        const run = yield* repo.run(id)
        expect(run).toMatchObject({ status: "timeout", finished_at: at(10), conversation: { response: "late" } })
        expect(late.run).toEqual(Option.some(run))
        yield* repo.end(id, failure("late too"), at(40))
        expect(yield* repo.run(id)).toEqual(run)
        const answered = yield* send(hook, term, at(1))
        yield* repo.end(answered, failure("broken"), at(2))
        yield* repo.end(answered, success("late"), at(3))
        expect((yield* repo.run(answered)).conversation).toEqual({ prompt: "Deploy api" })
      })
    )

    test(
      "of an unknown run is told as such",
      Effect.gen(function* () {
        const repo = yield* Repo
        const id = yield* makeRunId
        expect(yield* repo.end(id, success("?"), at(1))).toEqual({ recorded: false, run: Option.none() })
        yield* repo.started(id, at(1))
        yield* repo.sent(id, at(1))
      })
    )

    test(
      "keeps what text cannot hold as the replacement character",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const id = yield* send(hook, term, at(1))
        yield* repo.end(id, success("a\u0000b\ud800c"), at(2))
        expect((yield* repo.run(id)).conversation.response).toBe("a\ufffdb\ufffdc")
        const failed = yield* send(hook, term, at(1))
        yield* repo.end(failed, failure("\u0000"), at(2))
        expect((yield* repo.run(failed)).error?.message).toBe("\ufffd")
      })
    )

    test(
      "and start that come together are recorded in their order",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const [one, two] = [yield* send(hook, term, at(1)), yield* send(hook, term, at(1))]
        yield* Effect.all(
          [
            repo.started(one, at(5)),
            repo.end(one, success("done"), at(9)),
            repo.end(two, success("done"), at(6)),
            repo.started(two, at(7))
          ],
          all
        )
        expect(yield* repo.run(one)).toMatchObject({ status: "success", started_at: at(5), duration_ms: 4 })
        expect(yield* repo.run(two)).toMatchObject({ status: "success", started_at: at(1), duration_ms: 5 })
      })
    )
  })
}
