import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { InvalidParameter, NotFound } from "../../src/domain/Errors.ts"
import { makeRunId, makeWebhookId, type RunId } from "../../src/domain/Id.ts"
import { Repo, type RunQuery } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import { at, failure, makeHook, newMessage, plenty, queue, success } from "./fixtures.ts"

/** All pages, one after the other. */
const pages = (query: RunQuery, between: Effect.Effect<unknown, unknown, Repo> = Effect.void) =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const read: Array<ReadonlyArray<RunId>> = []
    let cursor: string | null | undefined
    do {
      const page = yield* repo.runs(cursor ? { ...query, cursor } : query)
      read.push(page.data.map((run) => run.run_id))
      cursor = page.next_cursor
      yield* between
    } while (cursor !== null)
    return read
  })

export const history = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))

  describe("history", () => {
    test(
      "is read newest first, page by page",
      Effect.gen(function* () {
        const hook = yield* makeHook()
        const other = yield* makeHook()
        const ids: Array<RunId> = []
        for (let i = 0; i < 10; i++) {
          ids.unshift(yield* queue(hook))
          yield* queue(other)
        }
        const query = { webhook_id: hook.id, limit: 4 }
        expect(yield* pages(query)).toEqual([ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)])
        expect(yield* pages({ ...query, limit: 5 })).toEqual([ids.slice(0, 5), ids.slice(5)])
        expect(yield* pages({ ...query, limit: 10 })).toEqual([ids])
      })
    )

    test(
      "shows each run once while more come in",
      Effect.gen(function* () {
        const hook = yield* makeHook()
        const ids: Array<RunId> = []
        for (let i = 0; i < 9; i++) ids.unshift(yield* queue(hook))
        const read = yield* pages({ webhook_id: hook.id, limit: 2 }, queue(hook))
        expect(read.flat()).toEqual(ids)
      })
    )

    test(
      "can be read by status",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const ids: Array<RunId> = []
        for (let i = 0; i < 6; i++) {
          const id = yield* queue(hook)
          if (i % 2 === 0) yield* repo.end(id, success("ok"), at(i))
          else if (i === 1) yield* repo.end(id, failure("no"), at(i))
          ids.unshift(id)
        }
        const read = (status: RunQuery["status"] & string) =>
          Effect.map(pages({ webhook_id: hook.id, status, limit: 2 }), (pages) => pages.flat())
        expect(yield* read("success")).toEqual([ids[1], ids[3], ids[5]])
        expect(yield* read("error")).toEqual([ids[4]])
        expect(yield* read("queued")).toEqual([ids[0], ids[2]])
        expect(yield* read("timeout")).toEqual([])
      })
    )

    test(
      "refuses a cursor that it did not make, and an unknown webhook",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        for (const cursor of ["", "x", "%00", "-1", "MQ==", Buffer.from("0").toString("base64url"), "A".repeat(99)]) {
          const error = yield* Effect.flip(repo.runs({ webhook_id: hook.id, limit: 1, cursor }))
          expect(error).toBeInstanceOf(InvalidParameter)
          expect(error).toMatchObject({ name: "cursor" })
        }
        expect(yield* repo.runs({ webhook_id: hook.id, limit: 1 })).toEqual({ data: [], next_cursor: null })
        const unknown = repo.runs({ webhook_id: yield* makeWebhookId, limit: 1 })
        expect(yield* Effect.flip(unknown)).toEqual(new NotFound())
      })
    )

    test(
      "says of many runs at once which have ended and which are gone",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const [live, done, unknown] = [yield* queue(hook), yield* queue(hook), yield* makeRunId]
        yield* repo.end(done, success("ok"), at(1))
        expect(yield* repo.ended([live, done, unknown])).toEqual({ runs: [yield* repo.run(done)], gone: [unknown] })
        expect(yield* repo.ended([])).toEqual({ runs: [], gone: [] })
      })
    )

    test(
      "loses what ended before a day, and nothing else",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const message = yield* newMessage()
        yield* repo.accept(message, plenty)
        const [old, young, live] = [yield* queue(hook), yield* queue(hook), yield* queue(hook)]
        yield* repo.end(message.run_id, success("ok"), at(99))
        yield* repo.end(old, success("ok"), at(99))
        yield* repo.end(young, success("ok"), at(100))
        expect(yield* repo.purge(at(100))).toBe(2)
        expect((yield* repo.runs({ webhook_id: hook.id, limit: 9 })).data.map((run) => run.run_id)).toEqual([
          live,
          young
        ])
        expect(yield* Effect.flip(repo.run(message.run_id))).toEqual(new NotFound())
      })
    )
  })
}
