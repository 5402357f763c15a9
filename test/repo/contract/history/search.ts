import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { InvalidParameter, NotFound } from "../../../../src/domain/Errors.ts"
import { makeWebhookId, type RunId, runIdAt } from "../../../../src/domain/Id.ts"
import type { RunFilter } from "../../../../src/repo/history/RunQuery.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptOne,
  at,
  createWebhook,
  endOne,
  epoch,
  failure,
  newMessage,
  newRun,
  ops,
  sendRun,
  step,
  success,
  type Target,
  team,
  timeout
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

/** A run accepted at that time, with an id of that time. */
const queueAt = (target: Target, ms: number, fields: Partial<NewRun> = {}) =>
  Effect.gen(function* () {
    const run = yield* newRun(target, { run_id: runIdAt(epoch + ms), accepted_at: at(ms), ...fields })
    yield* acceptOne(run)
    return run.run_id
  })
const messageAt = (ms: number, fields: Partial<NewRun> = {}) =>
  Effect.gen(function* () {
    const message = yield* newMessage({ run_id: runIdAt(epoch + ms), accepted_at: at(ms), ...fields })
    yield* acceptOne(message)
    return message.run_id
  })

/** The runs of all pages of this size. */
const find = (filter: RunFilter, limit = 2) =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const ids: Array<RunId> = []
    let cursor: string | null | undefined
    do {
      const page = yield* repo.runs({ ...filter, limit, ...(cursor && { cursor }) })
      expect(page.data.length).toBeLessThanOrEqual(limit)
      ids.push(...page.data.map(({ run_id }) => run_id))
      cursor = page.next_cursor
    } while (cursor !== null)
    return ids
  })

/** `HistoryStore.runs` over all webhooks. */
export const search = (test: Test): void => {
  test("reads the runs of all webhooks and teams, and messages, newest first, page by page, each once while more come in", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* createWebhook(), yield* createWebhook({ team: team("review") })]
    const ids: Array<RunId> = []
    for (let n = 0; n < 6; n += 2) {
      ids.unshift(yield* queueAt(n % 4 === 0 ? one : two, n))
      ids.unshift(yield* messageAt(n + 1))
    }
    expect(yield* find({})).toEqual(ids)
    expect(yield* find({}, 6)).toEqual(ids)
    const { data, next_cursor } = yield* repo.runs({ limit: 4 })
    yield* queueAt(one, 99)
    const rest = yield* repo.runs({ limit: 4, cursor: next_cursor! })
    expect([...data, ...rest.data].map(({ run_id }) => run_id)).toEqual(ids)
    expect(rest.next_cursor).toBeNull()
  })

  test("finds runs by everything that a filter names, and by several at once", function* () {
    const [one, two] = [yield* createWebhook(), yield* createWebhook({ team: team("review") })]
    const ended = yield* sendRun(one, 10, { run_id: runIdAt(epoch), accepted_at: at(0) })
    yield* endOne(ended, success("ok"), 510)
    const failed = yield* sendRun(two, 20, { run_id: runIdAt(epoch + 1), accepted_at: at(1), mode: "wait" })
    yield* endOne(failed, failure("no"), 2_020)
    const late = yield* queueAt(two, 2, { triggered_by: "a key" })
    yield* endOne(late, timeout, 3)
    const running = yield* sendRun(one, 30, { run_id: runIdAt(epoch + 4), accepted_at: at(4) })
    const message = yield* messageAt(3)
    const waiting = yield* queueAt(two, 5)
    for (const [filter, expected] of [
      [{ statuses: ["error", "timeout"] }, [late, failed]],
      [{ statuses: ["queued"] }, [waiting, message]],
      [{ statuses: ["running"] }, [running]],
      [{ statuses: ["queued", "running"], team: ops }, [running, message]],
      [{ statuses: ["running"], team: team("none") }, []],
      [{ statuses: ["cancelled"] }, []],
      [{ team: team("review") }, [waiting, late, failed]],
      [{ source: "chat" }, [message]],
      [{ source: "webhook", mode: "wait" }, [failed]],
      [{ triggered_by: "a key" }, [late]],
      [{ triggered_by: "another key" }, []],
      [{ webhook_id: one.id }, [running, ended]],
      [{ webhook_id: two.id, statuses: ["error", "timeout"] }, [late, failed]],
      [{ webhook_id: two.id, statuses: ["timeout"], mode: "wait" }, []],
      [{ from: at(2), to: at(4) }, [message, late]],
      [{ from: at(2), to: at(4), source: "webhook" }, [late]],
      [{ from: at(6) }, []],
      [{ min_duration_ms: 501 }, [failed]],
      [{ min_duration_ms: 500 }, [failed, ended]],
      [{ max_duration_ms: 500 }, [ended]],
      [{ min_duration_ms: 501, max_duration_ms: 1_999 }, []]
    ] as ReadonlyArray<readonly [RunFilter, ReadonlyArray<RunId>]>) {
      expect(yield* find(filter), JSON.stringify(filter)).toEqual(expected)
    }
  })

  test("finds a text in values, prompts, answers and errors, whatever the case of A to Z, as it is written", function* () {
    const webhook = yield* createWebhook()
    const inValue = yield* queueAt(webhook, 0, { variables: { "big.name": ['100% of "Größe"\n_x_'] } })
    const inPrompt = yield* queueAt(webhook, 1, { prompt: "Deploy the API" })
    const inAnswer = yield* queueAt(webhook, 2)
    yield* endOne(inAnswer, success("It is LIVE."), 3)
    const inError = yield* queueAt(webhook, 4)
    yield* endOne(inError, failure("Disk is full"), 5)
    const far = yield* queueAt(webhook, 6, { prompt: `${"é".repeat(19_996)}near far` })
    for (const [search, expected] of [
      ["deploy THE api", [inPrompt]],
      ["is live", [inAnswer]],
      ["disk is full", [inError]],
      [" is ", [inError, inAnswer]],
      ["BIG.NAME", [inValue]],
      ['of "Größe"\n', [inValue]],
      ["GRÖSSE", []],
      ["100%", [inValue]],
      ["1__%", []],
      ["_X_", [inValue]],
      ["\\", []],
      ["near", [far]],
      ["far", []]
    ] as const) {
      expect(yield* find({ search }), search).toEqual(expected)
      expect(yield* find({ search, webhook_id: webhook.id }), search).toEqual(expected)
    }
    expect(yield* find({ search: "is", statuses: ["error"] })).toEqual([inError])
  })

  test("finds questions, until they have a reply or their thread has ended", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    /** A run that has ended with these suggested replies. */
    const answered = (ms: number, asks: ReadonlyArray<string> | undefined, fields: Partial<NewRun> = {}) =>
      Effect.gen(function* () {
        const id = yield* queueAt(webhook, ms, fields)
        yield* step({ teams: [ops] })
        yield* endOne(id, { status: "success", response: "x", ...(asks && { report: { asks } }) }, ms + 1)
        return id
      })
    yield* answered(0, undefined)
    const alone = yield* answered(10, [])
    const replied = yield* answered(20, ["Yes"], { thread_key: "a" })
    const open = yield* answered(30, ["Yes", "No"], { thread_key: "b" })
    yield* answered(40, ["Yes"], { thread_key: "c" })
    const both = { asks: true } as const
    expect((yield* find(both)).slice(1)).toEqual([open, replied, alone])
    yield* messageAt(50, { thread_key: "a" })
    const { thread } = yield* repo.run((yield* find(both))[0]!)
    yield* repo.endThread(thread!.id, at(60))
    expect(yield* find(both)).toEqual([open, alone])
    expect(yield* find({ ...both, webhook_id: webhook.id })).toEqual([open, alone])
    const { thread: ofOpen } = yield* repo.run(open)
    expect(yield* find({ ...both, thread_id: ofOpen!.id })).toEqual([open])
    expect(yield* repo.usage(both)).toMatchObject({ runs: 2 })
  })

  test("finds the run whose id is searched, and what has the id in its texts", function* () {
    const webhook = yield* createWebhook()
    const wanted = yield* queueAt(webhook, 0)
    const naming = yield* queueAt(webhook, 1, { prompt: `Why did ${wanted} fail?` })
    expect(yield* find({ search: ` ${wanted.toUpperCase()} ` })).toEqual([wanted])
    expect(yield* find({ search: wanted, webhook_id: webhook.id, from: at(0), statuses: ["queued"] })).toEqual([wanted])
    expect(yield* find({ search: wanted, source: "webhook", statuses: ["error"] })).toEqual([])
    expect(yield* find({ search: wanted, from: at(1) })).toEqual([naming])
  })

  test("refuses a cursor that is not from an earlier page of all runs, and an unknown webhook", function* () {
    const repo = yield* Repo
    for (const cursor of ["", "x", "%00", Buffer.from("12").toString("base64url")]) {
      const error = yield* Effect.flip(repo.runs({ limit: 1, cursor }))
      expect(error).toBeInstanceOf(InvalidParameter)
      expect(error).toMatchObject({ name: "cursor" })
    }
    expect(yield* repo.runs({ limit: 1, search: "x" })).toEqual({ data: [], next_cursor: null })
    const webhook_id = yield* makeWebhookId
    expect(yield* Effect.flip(repo.runs({ webhook_id, limit: 1, search: "x" }))).toEqual(new NotFound())
  })
}
