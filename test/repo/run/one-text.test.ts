/** The statement of a step is the same for all requests, so its plans, and their memory, do not grow with their variety. */
import { expect, it } from "@effect/vitest"
import { Effect, Latch, Layer, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import type { RunEnd } from "../../../src/repo/run/RunEnd.ts"
import type { NewRun } from "../../../src/repo/run/RunStore.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { at, createWebhook, failure, newRun, step, success, type Target } from "../contract/fixtures.ts"
import { recording } from "../Explain.ts"

/** What a run can have, beyond a plain one. `n` makes keys different. */
const features: Readonly<Record<string, (webhook: Target, n: number) => Partial<NewRun>>> = {
  queue: ({ id, token_hash, version }) => ({ webhook: { id, token_hash, version, max_queued: 1_000 } }),
  rate: ({ id, token_hash, version }) => ({ webhook: { id, token_hash, version, rate: "1000/hour" } }),
  "runs a day": ({ id, token_hash, version }) => ({
    webhook: { id, token_hash, version, budget: { runs: 1_000, unknown_cost_usd: 0 } }
  }),
  "cost a day": ({ id, token_hash, version }) => ({
    webhook: { id, token_hash, version, budget: { cost_usd: 1_000, unknown_cost_usd: 0 } }
  }),
  coalesce: (_, n) => ({ coalesce: { key: `window ${n}`, until: at(1_000), request: { n } } }),
  thread: (_, n) => ({ thread_key: `thread ${n % 3}` }),
  key: (_, n) => ({
    idempotency: { key: `key ${n}`, request_hash: new Uint8Array(32), expires_at: at(1_000_000) }
  }),
  supersede: (_, n) => ({
    singleton: { key: "one", on_new: "supersede", supersede_when: n % 2 ? "started" : "accepted" }
  }),
  skip: (_, n) => ({ singleton: { key: `skip ${n}`, on_new: "skip" } }),
  retries: () => ({ attempt: 1, max_attempts: 3, retry_after_seconds: 1 }),
  approval: () => ({ hold: { for: "approval", until: at(1_000) } }),
  file: () => ({ files: [{ id: "in-1", name: "a.txt", type: "text/plain", size: 1, bytes: new Uint8Array(1) }] })
}

const names = Object.keys(features)
const single = [[], ...names.map((name) => [name])]
const pairs = names.flatMap((one, n) => names.slice(n + 1).map((two) => [one, two]))

let made = 0
const runsWith = (webhook: Target, sets: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.forEach(sets, (set) => {
    made++
    return newRun(webhook, Object.assign({}, ...set.map((name) => features[name]!(webhook, made))))
  })

/** Accepts a run with each of these sets of features, alone and all at once, and ends those that are admitted. */
const vary = (webhook: Target, sets: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.gen(function* () {
    let ends: ReadonlyArray<RunEnd> = []
    const alone = (yield* runsWith(webhook, sets)).map((run) => [run])
    for (const [n, accepts] of [...alone, yield* runsWith(webhook, sets)].entries()) {
      const { accepted, admitted } = yield* step({ accepts, ends }, { countQueued: n % 3 === 0 })
      expect(accepted.filter(Result.isFailure)).toEqual([])
      ends = admitted.map(({ run_id }) => ({
        run_id,
        at: at(n),
        outcome: n % 2 === 0 ? success("done") : failure("no")
      }))
    }
  })

const recorder = recording()
const clientOf = (maxConnections: number) =>
  Layer.unwrap(Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url), maxConnections })))
const client = clientOf(1)
const layer = RepoSql.layer.pipe(Layer.provideMerge(client), Layer.provideMerge(recorder.layer))

/** Bytes of this session's plans. */
const planned = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly bytes: number }>`
    select sum(total_bytes)::int as bytes from pg_backend_memory_contexts where name like 'CachedPlan%'`
  return row!.bytes
})

it.live("a step is one text, whatever its runs need, and further combinations need no further plans", () =>
  Effect.gen(function* () {
    const webhook = yield* createWebhook()
    // A text is prepared at its third use.
    for (const _ of [1, 2, 3]) yield* vary(webhook, single)
    const before = yield* planned
    expect(before).toBeGreaterThan(0)
    const texts = new Set((yield* recorder.of(vary(webhook, [...single, ...pairs]))).map(([text]) => text))
    expect([...texts].filter((text) => text.includes("webhook_trigger.step("))).toHaveLength(1)
    // The others join windows and store files.
    expect(texts.size).toBeLessThan(8)
    expect((yield* planned) - before).toBeLessThan(500_000)
  }).pipe(Effect.provide(layer))
)

it.live("steps have connections of their own, so that few connections have their plans", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const webhook = yield* createWebhook()
    for (const _ of [1, 2, 3]) yield* vary(webhook, single)
    const others = 4
    const allTaken = yield* Latch.make()
    let taken = 0
    const prepared = sql.withTransaction(
      Effect.gen(function* () {
        const rows = yield* sql`
          select from pg_prepared_statements where statement like ${"%webhook_trigger.step(%"}`
        if (++taken === others) yield* allTaken.open
        yield* allTaken.await
        return rows.length
      })
    )
    expect(
      yield* Effect.all(
        Array.from({ length: others }, () => prepared),
        { concurrency: others }
      )
    ).toEqual([0, 0, 0, 0])
  }).pipe(Effect.provide(RepoSql.layer.pipe(Layer.provideMerge(clientOf(6)))))
)
