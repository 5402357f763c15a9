/** Runs with megabytes of text, on a PostgreSQL whose bytes are counted. */

import { Effect, Layer, Redacted } from "effect"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { Proxy } from "../../support/Proxy.ts"
import { count, createWebhook, endOne, queueRun, success } from "../contract/fixtures.ts"

const runs = 20
const characters = 320_000

/** With random letters, which PostgreSQL cannot compress. */
const lengthen = `
  with long as materialized (
    select string_agg(md5(n::text), '') as text from generate_series(1, ${characters / 32}) as n
  )
  update webhook_trigger.runs
  set prompt = long.text, response = long.text, error_message = long.text,
    variables = json_build_object('name', long.text)
  from long`

const repoBehind = (proxy: Proxy, url: string) =>
  RepoSql.layer.pipe(Layer.provideMerge(PostgresClient.layer({ url: Redacted.make(proxy.through(url)) })))

const proxyOf = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => Proxy.of(url)),
    (proxy) => Effect.promise(() => proxy.close())
  )

describe("lists of runs with long texts", () => {
  it.live("are cut by the database, which keeps the rest", function* () {
    const url = yield* freshDatabase
    const proxy = yield* proxyOf(url)
    yield* Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      for (const n of count(runs)) yield* endOne(yield* queueRun(webhook), success("x"), n)
      yield* Effect.promise(() => queryPostgres(url, lengthen))
      const bytesOf = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.suspend(() => {
          const before = proxy.received
          return Effect.map(effect, (result) => [result, proxy.received - before] as const)
        })
      const [page, pageBytes] = yield* bytesOf(repo.runs({ webhook_id: webhook.id, limit: 100 }))
      const [teamRuns, teamBytes] = yield* bytesOf(repo.teamRuns(webhook.team, 100))
      for (const list of [page.data, teamRuns]) {
        expect(list).toHaveLength(runs)
        for (const { sizes, truncated, conversation } of list) {
          expect(truncated).toBe(true)
          expect(conversation.prompt).toHaveLength(1_000)
          expect(sizes).toMatchObject({ prompt: characters, response: characters, error: characters })
        }
      }
      for (const bytes of [pageBytes, teamBytes]) expect(bytes).toBeLessThan(runs * 6_000)
      const [whole, wholeBytes] = yield* bytesOf(repo.run(page.data[0]!.run_id))
      expect(whole.conversation.response).toHaveLength(characters)
      expect(wholeBytes).toBeGreaterThan(3 * characters)
    }).pipe(Effect.provide(repoBehind(proxy, url)))
  })
})
