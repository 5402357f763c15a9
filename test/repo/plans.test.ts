import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { v4 } from "uuid"
import { type LeaderId, makeLeaderKeyId, type RunId } from "../../src/domain/Id.ts"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import { leastId } from "../../src/repo/history/AcceptedBetween.ts"
import type { RunFilter } from "../../src/repo/history/RunQuery.ts"
import { Repo } from "../../src/repo/Repo.ts"
import * as RepoSql from "../../src/repo/RepoSql.ts"
import type { AskingLeader } from "../../src/repo/run/HttpLeaderStore.ts"
import { freshDatabase } from "../support/fresh.ts"
import {
  acceptOne,
  admitNext,
  at,
  createWebhook,
  endOne,
  newMessage,
  newRun,
  newTokenHash,
  ops,
  releaseOne,
  sendRun,
  sentOne,
  startedOne,
  step,
  success,
  type Target,
  team
} from "./contract/fixtures.ts"
import { readsOf, recording } from "./Explain.ts"

const many = 100_000
const portion = 10_000
const idle = team("idle")
const recorder = recording()

const client = Layer.unwrap(
  Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url), maxConnections: 5 }))
)
const runtime = ManagedRuntime.make(RepoSql.layer.pipe(Layer.provideMerge(client), Layer.provideMerge(recorder.layer)))
const onDatabase = <A, E>(effect: Effect.Effect<A, E, Repo | SqlClient.SqlClient>) =>
  Effect.flatMap(runtime.contextEffect, (context) => Effect.provide(effect, context))

/**
 * A hundred thousand queued runs of one webhook, as many that have ended of another one of the same team, and some of a
 * third one, which points at another team by now. One was accepted every tenth of a second. And messages to other teams.
 */
const fill = (queued: Target, ended: Target, moved: Target) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const id = sql.literal(
      `(lpad(to_hex((extract(epoch from accepted_at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 14))::uuid`
    )
    /** In portions, which take no longer than a statement may on a busy machine. */
    const insert = (webhook: Target, runs: number, status: string, finished: Date | null) =>
      Effect.forEach(
        Array.from({ length: Math.ceil(runs / portion) }, (_, i) => i * portion),
        (from) => sql`
          insert into webhook_trigger.runs
            (id, source, webhook_id, team, mode, status, prompt, variables, timeout_ms, accepted_at, finished_at,
              recorded_at)
          select ${id},
            'webhook', ${webhook.id}, 'ops', 'async', ${status}, 'x', '{}', 60000, accepted_at,
            ${finished}::timestamptz + n * interval '1 millisecond',
            ${finished}::timestamptz + n * interval '1 millisecond'
          from generate_series(${from + 1}::int, ${Math.min(runs, from + portion)}::int) as n,
            lateral (select ${DateTime.toDateUtc(at(0))}::timestamptz + n * interval '100 milliseconds' as accepted_at) as t`
      )
    yield* sql`
      insert into webhook_trigger.runs
        (id, source, team, mode, status, prompt, variables, timeout_ms, accepted_at, finished_at, recorded_at,
          idempotency_key)
      select ${id}, 'chat', 'team-' || n % 10, 'async', 'success', 'x', '{}', 60000, accepted_at, accepted_at, accepted_at,
        'key-' || n
      from generate_series(1, ${portion}::int) as n,
        lateral (select ${DateTime.toDateUtc(at(-100_000_000))}::timestamptz as accepted_at) as t`
    yield* insert(queued, many, "queued", null)
    yield* insert(ended, many, "success", DateTime.toDateUtc(at(1)))
    yield* insert(moved, 5_000, "success", DateTime.toDateUtc(at(1)))
  })

// In this order: filling the tables takes long, and the last tests change what the others read.
describe("with a hundred thousand queued runs, and as many that have ended", { shuffle: false }, () => {
  let queued: Target
  let ended: Target
  let behind: RunId
  let leader: AskingLeader
  beforeAll(() =>
    runtime.runPromise(
      Effect.gen(function* () {
        queued = yield* createWebhook({ name: "queued" })
        ended = yield* createWebhook({ name: "ended" })
        behind = yield* sendRun(ended, 0, { timeout: Duration.millis(1) })
        yield* fill(queued, ended, yield* createWebhook({ team: idle }))
        const key = { id: yield* makeLeaderKeyId, team: ops, name: "laptop", hint: "…x7Qa", created_at: at(0) }
        yield* (yield* Repo).createLeaderKey({ ...key, key_hash: yield* newTokenHash })
        leader = { team: ops, leader: v4() as LeaderId, key_id: key.id, asked_at: at(0) }
      })
    )
  )
  afterAll(() => runtime.dispose())

  /** Reads at most so many rows of `runs`, by index only. */
  const reads = <E>(name: string, most: number, effect: () => Effect.Effect<unknown, E, Repo | SqlClient.SqlClient>) =>
    it.live(`${name} reads few rows, by index`, () =>
      Effect.gen(function* () {
        const statements = yield* recorder.of(effect())
        expect(statements.length).toBeGreaterThan(0)
        for (const statement of statements) {
          const { scans, rows } = yield* readsOf(statement)
          expect(scans).not.toContain("Seq Scan")
          expect(rows).toBeLessThanOrEqual(most)
        }
      }).pipe(onDatabase)
    )
  const repo = Repo

  const lanes = () => Effect.flatMap(repo, ({ lanes }) => lanes)
  reads("lanes, without statistics,", 10, lanes)
  const leads = () =>
    Effect.gen(function* () {
      const { askToLead, keepRuns, offerRuns } = yield* repo
      yield* askToLead([leader], at(0), { mayReplace: true })
      yield* offerRuns([{ team: ops, run_id: behind, redelivered: false }])
      yield* askToLead([leader], at(1), { mayReplace: true })
      yield* keepRuns([{ ...leader, run_id: behind }], at(1))
    })
  reads("a leader over HTTP, without statistics,", 10, leads)
  it.live("autovacuum collects statistics", () =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`analyze webhook_trigger.runs`).pipe(onDatabase)
  )
  reads("lanes", 10, lanes)
  reads("a leader over HTTP", 10, leads)
  reads("history", 42, () => Effect.flatMap(repo, ({ runs }) => runs({ webhook_id: ended.id, limit: 20 })))
  reads("history from a cursor in the middle", 42, () =>
    Effect.flatMap(repo, ({ runs }) =>
      runs({ webhook_id: ended.id, limit: 20, cursor: Buffer.from("150000").toString("base64url") })
    )
  )
  reads("history by a status that no run has", 10, () =>
    Effect.flatMap(repo, ({ runs }) => runs({ webhook_id: ended.id, limit: 20, statuses: ["error"] }))
  )
  const [day, hour] = [Duration.days(1), Duration.hours(1)]
  const between = (from: DateTime.Utc, to: DateTime.Utc) => () =>
    Effect.flatMap(repo, ({ runs }) => runs({ webhook_id: ended.id, limit: 20, from, to }))
  reads("history of a stretch of time", 1_200, between(at(5_000_000), at(6_000_000)))
  reads("history of a stretch without runs", 450, between(at(-2_000_000), at(-1_000_000)))
  const find = (filter: RunFilter) => () => Effect.flatMap(repo, ({ runs }) => runs({ limit: 20, ...filter }))
  reads("all runs", 42, find({}))
  reads("all runs from a cursor in the middle", 42, () =>
    Effect.flatMap(repo, ({ runs }) =>
      runs({ limit: 20, cursor: Buffer.from(leastId(at(5_000_000).epochMilliseconds)).toString("base64url") })
    )
  )
  reads("all runs of a stretch of time", 1_300, find({ from: at(5_000_000), to: at(6_000_000) }))
  reads("all runs of a stretch without runs", 10, find({ from: at(-2_000_000), to: at(-1_000_000) }))
  // Each of its statements looks at one portion, or finds where that ends. Workers that share a scan read ahead: three times.
  const onePortion = { conditions: 48_150, texts: 6_150 }
  reads("all runs that ask a question", 42, find({ asks: true }))
  reads("all runs of a team", onePortion.conditions, find({ team: ops }))
  reads("all runs by states that no run has", onePortion.conditions, find({ statuses: ["error", "timeout"] }))
  reads("all runs that have not ended", onePortion.conditions, find({ statuses: ["running"] }))
  reads("all runs that took long", onePortion.conditions, find({ min_duration_ms: 1_000_000 }))
  reads("a text in all runs", onePortion.texts, find({ search: "nowhere" }))
  reads("a text in a webhook's history", onePortion.texts, () =>
    Effect.suspend(find({ search: "nowhere", webhook_id: ended.id }))
  )
  reads("a webhook's history by several states", onePortion.conditions, () =>
    Effect.suspend(find({ statuses: ["error", "timeout"], webhook_id: ended.id }))
  )
  reads("the id of a run", 10, () => Effect.suspend(find({ search: behind })))
  reads("a team's runs", 200, () => Effect.flatMap(repo, ({ teamRuns }) => teamRuns(ops, 20)))
  reads("a team's runs, none of them among many of another team", 3_000, () =>
    Effect.flatMap(repo, ({ teamRuns }) => teamRuns(idle, 20))
  )
  reads("a run's replays", 60, () => Effect.flatMap(repo, ({ replays }) => replays(behind, 20)))
  reads("runs by ids", 10, () => Effect.flatMap(repo, ({ runsByIds }) => runsByIds([behind])))
  reads("runs to be replayed", 200, () =>
    Effect.flatMap(repo, ({ replayable }) =>
      replayable({ of: { webhook_id: ended.id }, statuses: ["error", "success"], limit: 20 })
    )
  )
  reads("a team's runs to be replayed", 300, () =>
    Effect.flatMap(repo, ({ replayable }) => replayable({ of: { team: ops }, statuses: ["success"], limit: 20 }))
  )
  reads("the messages to a team that are to be replayed", 100, () =>
    Effect.flatMap(repo, ({ replayable }) =>
      replayable({ of: { team: team("team-3") }, statuses: ["error", "success"], limit: 20 })
    )
  )
  reads("the messages to a team", 130, () => Effect.flatMap(repo, ({ teamRuns }) => teamRuns(team("team-3"), 20)))
  reads("states of runs", 60, () =>
    Effect.flatMap(repo, ({ states }) => states({ run_ids: [behind], teams: [ops, idle], since: at(0), limit: 10 }))
  )
  it.live("all ends are rolled up", () =>
    Effect.gen(function* () {
      const { rollUp } = yield* repo
      yield* Effect.repeat(rollUp(at(0), Duration.zero), { while: (more) => more })
    }).pipe(onDatabase)
  )
  // Waiting runs are counted by their index: those of a team or webhook, or all, but never what has ended.
  const waiting = many + 110
  reads("teams", waiting, () => Effect.flatMap(repo, ({ teams }) => teams))
  reads("the oldest queued run of each team", 20, () => Effect.flatMap(repo, ({ oldestQueued }) => oldestQueued))
  // The run that it has.
  reads("team", waiting, () => Effect.flatMap(repo, ({ team }) => team(ops)))
  reads("releaseTeam", 1, () => Effect.flatMap(repo, ({ releaseTeam }) => releaseTeam(ops, at(0))))
  reads("releaseUnconfirmed", 1, () =>
    Effect.flatMap(repo, ({ releaseUnconfirmed }) => releaseUnconfirmed(at(0), at(0)))
  )
  reads("queued", 1_000, () => Effect.flatMap(repo, ({ queued }) => queued(1_000)))
  reads("what the newest queued run waits for", 1_010, () =>
    Effect.flatMap(repo, ({ queuedFacts, runs }) =>
      Effect.flatMap(runs({ webhook_id: queued.id, limit: 1 }), ({ data: [newest] }) =>
        queuedFacts(newest!.run_id, 1_000)
      )
    )
  )
  reads("slots", waiting, () => Effect.flatMap(repo, ({ slots }) => slots(queued.id)))
  reads("activity", waiting, () =>
    Effect.flatMap(repo, ({ activity }) => activity(DateTime.startOf(at(0), "hour"), hour))
  )
  reads("statistics by hours", 10, () =>
    Effect.flatMap(repo, ({ statistics }) => statistics(ended.id, DateTime.startOf(at(0), "hour"), hour))
  )
  reads("statistics by days", waiting, () =>
    Effect.flatMap(repo, ({ statistics }) => statistics(queued.id, DateTime.startOf(at(0), "day"), day))
  )
  reads("roll-up", 0, () => Effect.flatMap(repo, ({ rollUp }) => rollUp(at(0), Duration.zero)))
  reads("a portion of a purge", 2_000, () => Effect.flatMap(repo, ({ purge }) => purge(at(many))))
  reads("webhooks", 10, () => Effect.flatMap(repo, ({ webhooks }) => webhooks))
  reads("webhooksByToken", 10, () =>
    Effect.flatMap(repo, ({ webhooksByToken }) =>
      webhooksByToken([queued.token_hash, ended.token_hash], DateTime.makeUnsafe(0))
    )
  )
  reads("out", 10, () => Effect.flatMap(repo, ({ out }) => out))
  reads("expire", 1_000, () => Effect.flatMap(repo, ({ expire }) => expire(at(0))))
  reads("failed runs to be tried again, when there are none", 0, () =>
    Effect.flatMap(repo, ({ retriesDue }) => retriesDue(at(many), { limit: 50, except: [] }))
  )
  it.live("many wait to be tried again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const time = (ms: number) => DateTime.toDateUtc(at(ms))
      // In portions as well.
      for (const from of [0, 500_000, 1_000_000, 1_500_000]) {
        yield* sql`
          update webhook_trigger.runs set retry_at = finished_at
          where webhook_id = ${ended.id} and accepted_at >= ${time(from)} and accepted_at < ${time(from + 500_000)}
            and id <> ${behind}`
      }
      yield* sql`analyze webhook_trigger.runs`
    }).pipe(onDatabase)
  )
  reads("failed runs to be tried again", 60, () =>
    Effect.flatMap(repo, ({ retriesDue }) => retriesDue(at(many), { limit: 50, except: [queued.id] }))
  )
  reads("calling off a retry", 10, () => Effect.flatMap(repo, ({ callOffRetries }) => callOffRetries([behind])))
  // Of all webhooks those that wait, and no others.
  reads("calling off the retries of a webhook that has none", 20_000, () =>
    Effect.flatMap(repo, ({ callOffRetriesOf }) => callOffRetriesOf({ webhook_id: queued.id }, "host"))
  )
  reads("counting the retries of a team that has none", 20_000, () =>
    Effect.flatMap(repo, ({ countRetries }) => countRetries({ team: idle }))
  )
  reads("an accept of the next attempt of a run", 20, () =>
    Effect.gen(function* () {
      const run = yield* newRun(ended, { attempt: 2, replay_of: behind })
      expect((yield* Effect.flip(acceptOne(run, { maxQueued: 0 })))._tag).toBe("NotFound")
    })
  )
  reads("a refused accept", 1_010, () =>
    Effect.gen(function* () {
      const run = yield* newRun(ended)
      expect((yield* Effect.flip(acceptOne(run, { maxQueued: 1_000 })))._tag).toBe("TooManyQueued")
    })
  )
  // The same rows are joined to the input once more.
  reads("an accept that the webhook's own limits refuse", 2 * waiting, () =>
    Effect.gen(function* () {
      const run = yield* newRun({ ...queued, max_queued: 1_000, rate: "1/day" })
      expect(yield* Effect.flip(acceptOne(run))).toMatchObject({ _tag: "TooManyQueued", of: "webhook" })
    })
  )
  reads("an accept with a key", 10, () =>
    Effect.gen(function* () {
      const run = yield* newRun(ended, {
        idempotency: { key: "k", request_hash: new Uint8Array(32), expires_at: at(1_000) }
      })
      yield* Effect.flip(acceptOne(run, { maxQueued: 0 }))
    })
  )
  reads("an accept of a message with a key", 10, () =>
    Effect.gen(function* () {
      const idempotency = { key: "key-3", request_hash: new Uint8Array(32), expires_at: at(1_000) }
      yield* Effect.ignore((yield* repo).createTeam(team("team-3"), at(0)))
      yield* Effect.flip(acceptOne(yield* newMessage({ team: team("team-3"), idempotency }), { maxQueued: 0 }))
    })
  )
  reads("a run that was sent expires, and", 1_000, () =>
    Effect.gen(function* () {
      const expired = yield* (yield* repo).expire(at(many + 90_000))
      expect(expired.map((run) => run.run_id)).toEqual([behind])
      yield* releaseOne(behind, many + 90_001)
    })
  )
  // Of a step, what its functions read, and the entries of indexes.
  reads("a step, sent, started and another one", 40, () =>
    Effect.gen(function* () {
      const [id] = yield* admitNext()
      yield* sentOne(id!, 1)
      yield* startedOne(id!, 2)
      const { admitted } = yield* step({ ends: [{ run_id: id!, outcome: success("done"), at: at(3) }] })
      expect(admitted).toHaveLength(1)
      const [next] = admitted
      yield* endOne(next!.run_id, success("done"), 4)
      yield* endOne(next!.run_id, success("again"), 5)
      yield* (yield* repo).ended([id!, next!.run_id])
    })
  )
  it.live("the team is paused", () => Effect.flatMap(repo, ({ pauseTeam }) => pauseTeam(ops, at(0))).pipe(onDatabase))
  reads("a step of a paused team", 10, () => Effect.map(admitNext(), (admitted) => expect(admitted).toEqual([])))

  it.live(
    "of two webhooks, one is paused after many successes, and one has many failures from before its count began",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const later = DateTime.toDateUtc(at(1_000_000_000))
        yield* sql`
        update webhook_trigger.webhooks set pause_after_failures = 3, paused_at = ${later} where id = ${ended.id}`
        yield* sql`
        update webhook_trigger.webhooks set pause_after_failures = 3, failures_since = ${later}
        where id <> all(array[${ended.id}, ${queued.id}]::uuid[])`
        const changed = yield* sql`
        update webhook_trigger.runs set status = 'error' where webhook_id in (
          select id from webhook_trigger.webhooks where failures_since is not null
        ) returning 1`
        expect(changed).toHaveLength(5_000)
      }).pipe(onDatabase)
  )
  reads("the failures in a row", 320, () => Effect.flatMap(repo, ({ failuresInARow }) => failuresInARow(100)))
  reads("the paused webhooks that have recovered", 60, () => Effect.flatMap(repo, ({ recovered }) => recovered))

  it.live("deleting the webhook takes its history with it, however long", () =>
    Effect.gen(function* () {
      const { deleteWebhook, runs } = yield* repo
      expect(yield* deleteWebhook(ended.id)).toEqual([])
      expect((yield* Effect.flip(runs({ webhook_id: ended.id, limit: 1 })))._tag).toBe("NotFound")
    }).pipe(onDatabase)
  )

  it.live("deleting a webhook with all of them in its lane ends them all", () =>
    Effect.gen(function* () {
      const { deleteWebhook, lanes } = yield* repo
      expect((yield* deleteWebhook(queued.id)).length).toBeGreaterThan(many - 10)
      expect(yield* lanes).toEqual([])
    }).pipe(onDatabase)
  )
})
