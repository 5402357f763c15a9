import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { v7 } from "uuid"
import { NotFound } from "../../src/domain/Errors.ts"
import { makeWebhookId, RunId } from "../../src/domain/Id.ts"
import { type NewRun, Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import {
  admit,
  at,
  failure,
  type Hook,
  makeHook,
  newMessage,
  newRun,
  plenty,
  success,
  takeTerm,
  team,
  timeout
} from "./fixtures.ts"

const minute = 60_000

/** Accepted at this time, of which its id speaks too. */
const acceptedAt = (ms: number): Pick<NewRun, "run_id" | "accepted_at"> => ({
  run_id: RunId.make(v7({ msecs: at(ms).getTime() })),
  accepted_at: at(ms)
})

const queueAt = Effect.fnUntraced(function* (hook: Hook, ms: number) {
  const run = yield* newRun(hook, acceptedAt(ms))
  yield* (yield* Repo).accept(run, plenty)
  return run.run_id
})

export const statistics = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))

  describe("statistics", () => {
    test(
      "count how runs ended, by the time of their acceptance",
      Effect.gen(function* () {
        const repo = yield* Repo
        const [hook, other] = [yield* makeHook(), yield* makeHook()]
        const term = yield* takeTerm
        const end = Effect.fnUntraced(function* (ms: number, took: number, outcome = success("ok")) {
          const id = yield* queueAt(hook, ms)
          yield* admit(id, term)
          yield* repo.sent(id, at(ms + 10))
          yield* repo.started(id, at(ms + 20))
          yield* repo.end(id, outcome, at(ms + 20 + took))
        })
        yield* end(-1, 5)
        for (const took of [100, 400, 200]) yield* end(0, took)
        yield* end(minute - 1, 9_000, failure("no"))
        yield* end(minute, 50, timeout)
        yield* queueAt(hook, minute)
        yield* queueAt(other, 0)

        const counted = yield* repo.statistics(hook.id, at(0), minute)
        expect([...counted].sort((a, b) => a.bucket - b.bucket)).toEqual([
          { bucket: 0, success: 3, error: 1, timeout: 0, live: 0, median_ms: 200, slowest_ms: 400 },
          { bucket: 1, success: 0, error: 0, timeout: 1, live: 1 }
        ])
        const activity = yield* repo.activity(at(0), 2 * minute)
        expect(activity).toHaveLength(2)
        expect(activity).toContainEqual({ webhook_id: hook.id, bucket: 0, success: 3, error: 1, timeout: 1, live: 1 })
        expect(activity).toContainEqual({ webhook_id: other.id, bucket: 0, success: 0, error: 0, timeout: 0, live: 1 })
      })
    )

    test(
      "tell slots in use from runs that wait",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const [first, second] = [yield* queueAt(hook, 0), yield* queueAt(hook, 1)]
        yield* queueAt(hook, 2)
        expect(yield* repo.slots(hook.id)).toEqual({ slots_in_use: 0, queued: 3 })
        yield* admit(first, term)
        yield* admit(second, term)
        yield* repo.sent(first, at(5))
        expect(yield* repo.slots(hook.id)).toEqual({ slots_in_use: 2, queued: 1 })
        yield* repo.end(first, success("ok"), at(6))
        expect(yield* repo.slots(hook.id)).toEqual({ slots_in_use: 1, queued: 1 })
      })
    )

    test(
      "show what a team was asked by its webhooks and in chat, newest first",
      Effect.gen(function* () {
        const repo = yield* Repo
        const [hook, elsewhere] = [yield* makeHook(), yield* makeHook({ team: team("elsewhere") })]
        const first = yield* queueAt(hook, 0)
        const message = yield* newMessage(acceptedAt(1))
        yield* repo.accept(message, plenty)
        yield* queueAt(elsewhere, 2)
        const last = yield* queueAt(hook, 3)
        const ids = (limit: number) =>
          Effect.map(repo.teamRuns(hook.team, limit), (runs) => runs.map((run) => run.run_id))
        expect(yield* ids(10)).toEqual([last, message.run_id, first])
        expect(yield* ids(2)).toEqual([last, message.run_id])
      })
    )

    test(
      "leave the history to be read by date",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const days = [0, 1, 2, 3].map((day) => day * 24 * 60 * minute)
        const ids: Array<RunId> = []
        for (const day of days) ids.push(yield* queueAt(hook, day))
        const read = (from?: number, to?: number) =>
          Effect.map(
            repo.runs({
              webhook_id: hook.id,
              limit: 10,
              ...(from !== undefined && { from: at(from) }),
              ...(to !== undefined && { to: at(to) })
            }),
            ({ data }) => data.map((run) => run.run_id)
          )
        expect(yield* read(days[1])).toEqual([ids[3], ids[2], ids[1]])
        expect(yield* read(days[1]! + 1)).toEqual([ids[3], ids[2]])
        expect(yield* read(undefined, days[2])).toEqual([ids[1], ids[0]])
        expect(yield* read(days[1], days[3])).toEqual([ids[2], ids[1]])
        expect(yield* read(days[3]! + 1)).toEqual([])
      })
    )

    test(
      "know the hash that a webhook's token has",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        expect(new Uint8Array(yield* repo.tokenHash(hook.id))).toEqual(new Uint8Array(hook.token_hash))
        expect(yield* Effect.flip(repo.tokenHash(yield* makeWebhookId))).toEqual(new NotFound())
      })
    )
  })
}
