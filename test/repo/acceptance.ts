import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { IdempotencyKeyReused, NotFound, TooManyQueued } from "../../src/domain/Errors.ts"
import { type NewRun, Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import {
  admit,
  at,
  type Hook,
  makeHook,
  newMessage,
  newRun,
  ops,
  plenty,
  send,
  success,
  takeTerm,
  team
} from "./fixtures.ts"

const all = { concurrency: "unbounded" } as const
const count = (n: number) => Array.from({ length: n }, (_, i) => i)

const keyed = (hook: Hook, key: string, hash = 1, fields: Partial<NewRun> = {}) =>
  newRun(hook, { idempotency: { key, request_hash: new Uint8Array(32).fill(hash), ttl_ms: 1_000 }, ...fields })

export const acceptance = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))

  describe("accept", () => {
    test(
      "keeps a run as it was given",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const variables = JSON.parse(
          '{"z":1,"a":"𝄞 \\u0000 \\"","__proto__":{"x":[1.5,null,true]},"constructor":"","10":"ten"}'
        )
        const run = yield* newRun(hook, {
          mode: "wait",
          prompt: "Zeile 1\nЗапуск $1 'x' \\ \u0001",
          variables,
          deadline_at: at(5_000),
          accepted_at: at(123)
        })
        expect(yield* repo.accept(run, plenty)).toEqual({ _tag: "accepted" })
        const kept = yield* repo.run(run.run_id)
        expect(kept).toEqual({
          run_id: run.run_id,
          source: "webhook",
          webhook_id: hook.id,
          team: "ops",
          mode: "wait",
          status: "queued",
          accepted_at: at(123),
          variables,
          conversation: { prompt: "Zeile 1\nЗапуск $1 'x' \\ \u0001" }
        })
        expect(JSON.stringify(kept.variables)).toBe(JSON.stringify(variables))
        const message = yield* newMessage()
        yield* repo.accept(message, plenty)
        expect(Object.keys(yield* repo.run(message.run_id))).not.toContain("webhook_id")
      })
    )

    test(
      "refuses a webhook that is disabled, deleted or has another token, and a team that is gone",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const refused = Effect.fnUntraced(function* (run: NewRun) {
          expect(yield* Effect.flip(repo.accept(run, plenty))).toEqual(new NotFound())
          expect(yield* Effect.flip(repo.run(run.run_id))).toEqual(new NotFound())
        })
        yield* repo.changeWebhook(hook.id, { enabled: false }, at(1))
        yield* refused(yield* newRun(hook))
        yield* repo.changeWebhook(hook.id, { enabled: true }, at(2))
        yield* repo.accept(yield* newRun(hook), plenty)
        yield* repo.replaceToken(hook.id, { hash: new Uint8Array(32), hint: "…" }, at(3))
        yield* refused(yield* newRun(hook))
        yield* repo.deleteWebhook(hook.id)
        yield* refused(yield* newRun({ ...hook, token_hash: new Uint8Array(32) }))
        yield* refused(yield* newMessage({ team: team("nowhere") }))
      })
    )

    test(
      "refuses only the runs that are to be refused, of those that come together",
      Effect.gen(function* () {
        const repo = yield* Repo
        const good = yield* makeHook()
        const bad = yield* makeHook({ enabled: false })
        const runs = yield* Effect.forEach(count(60), (i) => newRun(i % 3 === 0 ? bad : good))
        const results = yield* Effect.forEach(runs, (run) => Effect.either(repo.accept(run, plenty)), all)
        expect(results.map((result) => result._tag)).toEqual(count(60).map((i) => (i % 3 === 0 ? "Left" : "Right")))
        expect(yield* repo.lane(ops, 100)).toHaveLength(40)
      })
    )

    test(
      "keeps each caller's order among a hundred at once",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const callers = yield* Effect.forEach(count(10), () => Effect.forEach(count(10), () => newRun(hook)))
        yield* Effect.forEach(callers, (runs) => Effect.forEach(runs, (run) => repo.accept(run, plenty)), all)
        const lane = (yield* repo.lane(ops, 200)).map((run) => run.run_id)
        expect(lane).toHaveLength(100)
        for (const runs of callers) {
          const places = runs.map((run) => lane.indexOf(run.run_id))
          expect(places).toEqual(places.toSorted((a, b) => a - b))
        }
      })
    )

    test(
      "takes exactly as many as may wait, and more when one has left",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const limit = { max_queued: 5 }
        const runs = yield* Effect.forEach(count(20), () => newRun(hook))
        const results = yield* Effect.forEach(runs, (run) => Effect.either(repo.accept(run, limit)), all)
        expect(results.filter((result) => result._tag === "Right")).toHaveLength(5)
        const another = yield* newMessage()
        expect(yield* Effect.flip(repo.accept(another, limit))).toEqual(new TooManyQueued({ limit: 5 }))
        const [first, second] = yield* repo.lane(ops, 2)
        yield* admit(first!.run_id, yield* takeTerm)
        expect(yield* repo.accept(another, limit)).toEqual({ _tag: "accepted" })
        yield* repo.end(second!.run_id, { status: "timeout" }, at(9))
        expect(yield* repo.accept(yield* newMessage(), limit)).toEqual({ _tag: "accepted" })
        expect((yield* Effect.flip(repo.accept(yield* newMessage(), limit)))._tag).toBe("TooManyQueued")
      })
    )

    test(
      "goes on for the others when a caller goes away",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const runs = yield* Effect.forEach(count(40), () => newRun(hook))
        const fibers = yield* Effect.forEach(runs, (run) => Effect.fork(repo.accept(run, plenty)))
        yield* Effect.yieldNow()
        for (const [i, fiber] of fibers.entries())
          if (i % 2 === 1) yield* Effect.fork(fiber.interruptAsFork(fiber.id()))
        const exits = yield* Effect.forEach(fibers, (fiber) => fiber.await)
        expect(exits.filter((exit, i) => i % 2 === 0 && exit._tag === "Failure")).toEqual([])
        const kept = new Set((yield* repo.lane(ops, 100)).map((run) => run.run_id))
        for (const [i, run] of runs.entries()) if (i % 2 === 0) expect(kept).toContain(run.run_id)
      })
    )
  })

  describe("an idempotency key", () => {
    test(
      "names one run, also of a hundred that come at once",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const runs = yield* Effect.forEach(count(100), () => keyed(hook, "k"))
        const results = yield* Effect.forEach(runs, (run) => repo.accept(run, plenty), all)
        const lane = yield* repo.lane(ops, 10)
        expect(lane).toHaveLength(1)
        expect(results.filter((result) => result._tag === "accepted")).toHaveLength(1)
        for (const result of results) if (result._tag === "repeated") expect(result.run.run_id).toBe(lane[0]!.run_id)
      })
    )

    test(
      "gives the run as it is now, also while no more may wait",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const first = yield* keyed(hook, "k")
        yield* repo.accept(first, { max_queued: 1 })
        const repeat = repo.accept(yield* keyed(hook, "k"), { max_queued: 1 })
        expect(yield* repeat).toEqual({ _tag: "repeated", run: yield* repo.run(first.run_id) })
        expect((yield* Effect.flip(repo.accept(yield* keyed(hook, "other"), { max_queued: 1 })))._tag).toBe(
          "TooManyQueued"
        )
        yield* repo.end(first.run_id, success("done"), at(5))
        const repeated = yield* repeat
        expect(repeated).toMatchObject({ _tag: "repeated", run: { status: "success" } })
      })
    )

    test(
      "is refused for another request",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        yield* repo.accept(yield* keyed(hook, "k", 1), plenty)
        expect(yield* Effect.flip(repo.accept(yield* keyed(hook, "k", 2), plenty))).toEqual(new IdempotencyKeyReused())
        const runs = yield* Effect.forEach(count(20), (i) => keyed(hook, "together", i % 2))
        const results = yield* Effect.forEach(runs, (run) => Effect.either(repo.accept(run, plenty)), all)
        expect(results.filter((result) => result._tag === "Left")).toHaveLength(10)
      })
    )

    test(
      "belongs to its webhook, and is forgotten after its time",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const other = yield* makeHook()
        const first = yield* keyed(hook, "k")
        yield* repo.accept(first, plenty)
        expect(yield* repo.accept(yield* keyed(other, "k"), plenty)).toEqual({ _tag: "accepted" })
        const late = yield* Effect.forEach(count(5), () => keyed(hook, "k", 2, { accepted_at: at(1_000) }))
        const results = yield* Effect.forEach(late, (run) => repo.accept(run, plenty), all)
        expect(results.map((result) => result._tag).sort()).toEqual(["accepted", ...count(4).map(() => "repeated")])
        expect((yield* repo.run(first.run_id)).status).toBe("queued")
        const soon = yield* keyed(hook, "k", 2, { accepted_at: at(1_999) })
        expect((yield* repo.accept(soon, plenty))._tag).toBe("repeated")
      })
    )

    test(
      "does not help a caller whose token was replaced",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        yield* send(hook, yield* takeTerm, at(1), {
          idempotency: { key: "k", request_hash: new Uint8Array(1), ttl_ms: 9 }
        })
        yield* repo.replaceToken(hook.id, { hash: new Uint8Array(32), hint: "…" }, at(2))
        expect(yield* Effect.flip(repo.accept(yield* keyed(hook, "k"), plenty))).toEqual(new NotFound())
      })
    )
  })
}
