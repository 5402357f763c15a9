import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { InvalidParameter, NotFound } from "../../../../src/domain/Errors.ts"
import { makeRunId, makeWebhookId, type RunId } from "../../../../src/domain/Id.ts"
import type { RunStatus, Variables } from "../../../../src/domain/run/Run.ts"
import type { StatesQuery } from "../../../../src/repo/history/HistoryStore.ts"
import type { RunQuery } from "../../../../src/repo/history/RunQuery.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptOne,
  at,
  count,
  createWebhook,
  endOne,
  failure,
  newMessage,
  ops,
  queueRun,
  sendRun,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

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

export const historyStore = (test: Test): void => {
  test("reads a webhook's runs newest first, page by page", function* () {
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const ids: Array<RunId> = []
    for (const _ of count(10)) {
      ids.unshift(yield* queueRun(webhook))
      yield* queueRun(other)
    }
    const query = { webhook_id: webhook.id, limit: 4 }
    expect(yield* pages(query)).toEqual([ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)])
    expect(yield* pages({ ...query, limit: 5 })).toEqual([ids.slice(0, 5), ids.slice(5)])
    expect(yield* pages({ ...query, limit: 10 })).toEqual([ids])
  })

  test("shows each run once while more come in", function* () {
    const webhook = yield* createWebhook()
    const ids: Array<RunId> = []
    for (const _ of count(9)) ids.unshift(yield* queueRun(webhook))
    const read = yield* pages({ webhook_id: webhook.id, limit: 2 }, queueRun(webhook))
    expect(read.flat()).toEqual(ids)
  })

  test("reads the runs of one status", function* () {
    const webhook = yield* createWebhook()
    const ids: Array<RunId> = []
    for (const i of count(6)) {
      const id = yield* queueRun(webhook)
      if (i % 2 === 0) yield* endOne(id, success("ok"), i)
      else if (i === 1) yield* endOne(id, failure("no"), i)
      ids.unshift(id)
    }
    const read = (status: RunStatus) =>
      Effect.map(pages({ webhook_id: webhook.id, statuses: [status], limit: 2 }), (pages) => pages.flat())
    expect(yield* read("success")).toEqual([ids[1], ids[3], ids[5]])
    expect(yield* read("error")).toEqual([ids[4]])
    expect(yield* read("queued")).toEqual([ids[0], ids[2]])
    expect(yield* read("timeout")).toEqual([])
  })

  test("cuts long texts in lists, and says how long they are", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const runOf = (variables: Variables, prompt: string) => queueRun(webhook, { variables, prompt })
    const list = Effect.map(repo.runs({ webhook_id: webhook.id, limit: 9 }), ({ data }) => data)

    const short = yield* runOf({ a: "é", ["__proto__"]: [1] }, "é".repeat(1_000))
    yield* endOne(short, success("😀".repeat(1_000)), 1)
    const whole = yield* repo.run(short)
    expect(yield* list).toEqual([
      { ...whole, truncated: false, sizes: { variables: 26, prompt: 2_000, response: 4_000 } }
    ])

    const variables = { a: 1, text: "😀".repeat(1_001), lost: true }
    const long = yield* runOf(variables, `${"é".repeat(999)}😀!`)
    const cut = { truncated: true, sizes: { variables: Buffer.byteLength(JSON.stringify(variables)), prompt: 2_003 } }
    const shown = { a: 1, text: "😀".repeat(1_000 - '{"a":1,"text":"'.length) }
    expect((yield* list)[0]).toEqual({
      ...(yield* repo.run(long)),
      ...cut,
      variables: shown,
      conversation: { prompt: `${"é".repeat(999)}😀` }
    })
    yield* endOne(long, failure("n".repeat(5_000_000)), 2)
    const ended = {
      ...(yield* repo.run(long)),
      truncated: true,
      sizes: { ...cut.sizes, error: 5_000_000 },
      variables: shown,
      conversation: { prompt: `${"é".repeat(999)}😀` },
      error: { code: "agent_error", message: "n".repeat(1_000) }
    }
    expect((yield* list)[0]).toEqual(ended)
    expect((yield* repo.teamRuns(webhook.team, 9))[0]).toEqual(ended)
    expect((yield* repo.run(long)).error?.message).toHaveLength(5_000_000)
    expect((yield* repo.run(long)).variables).toEqual(variables)
  })

  test("shows the states of given runs, and of the newest of a team that are not finished", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const accepted = (ms: number, fields: Partial<NewRun> = {}) => queueRun(webhook, { accepted_at: at(ms), ...fields })
    const ended = yield* accepted(0)
    yield* endOne(ended, success("done"), 5)
    const sent = yield* sendRun(webhook, 7, { accepted_at: at(2) })
    const [early, late, latest] = [yield* accepted(1), yield* accepted(2), yield* accepted(3)]
    const message = yield* newMessage({ team: team("review"), accepted_at: at(4) })
    yield* repo.createTeam(team("review"), at(0))
    yield* acceptOne(message)
    const states = (query: Partial<StatesQuery>) =>
      repo.states({ run_ids: [], teams: [], since: at(2), limit: 9, ...query })
    const idsOf = (query: Partial<StatesQuery>) =>
      Effect.map(states(query), (states) => states.map(({ run_id }) => run_id))

    const { variables, conversation, error, ...state } = yield* repo.run(ended)
    expect(yield* states({ run_ids: [ended] })).toEqual([state])
    expect(yield* idsOf({})).toEqual([])
    expect(yield* idsOf({ teams: [ops] })).toEqual([sent, late, latest])
    expect(yield* idsOf({ teams: [ops], limit: 1 })).toEqual([sent, latest])
    expect(yield* idsOf({ teams: [ops, team("review"), team("none")], since: at(3) })).toEqual([latest, message.run_id])
    const unknown = yield* makeRunId
    expect(yield* idsOf({ run_ids: [latest, unknown, early], teams: [ops] })).toEqual([sent, early, late, latest])
    const [running] = yield* states({ run_ids: [sent] })
    expect(running).toMatchObject({ webhook_id: webhook.id, status: "running", sent_at: at(7) })
  })

  test("refuses a cursor that is not from an earlier page, and an unknown webhook", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    for (const cursor of ["", "x", "%00", "-1", "MQ==", Buffer.from("0").toString("base64url"), "A".repeat(99)]) {
      const error = yield* Effect.flip(repo.runs({ webhook_id: webhook.id, limit: 1, cursor }))
      expect(error).toBeInstanceOf(InvalidParameter)
      expect(error).toMatchObject({ name: "cursor" })
    }
    expect(yield* repo.runs({ webhook_id: webhook.id, limit: 1 })).toEqual({ data: [], next_cursor: null })
    const unknown = repo.runs({ webhook_id: yield* makeWebhookId, limit: 1 })
    expect(yield* Effect.flip(unknown)).toEqual(new NotFound())
  })

  test("purges what ended before a point in time, and nothing else", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const message = yield* newMessage()
    yield* acceptOne(message)
    const [old, young, live] = [yield* queueRun(webhook), yield* queueRun(webhook), yield* queueRun(webhook)]
    yield* endOne(message.run_id, success("ok"), 99)
    yield* endOne(old, success("ok"), 99)
    yield* endOne(young, success("ok"), 100)
    expect(yield* repo.purge(at(100))).toBe(2)
    const { data } = yield* repo.runs({ webhook_id: webhook.id, limit: 9 })
    expect(data.map((run) => run.run_id)).toEqual([live, young])
    expect(yield* Effect.flip(repo.run(message.run_id))).toEqual(new NotFound())
  })
}
