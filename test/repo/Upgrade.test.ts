/** What an operator finds after an upgrade: a database that the first release has filled, under this version. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { makeRunId, WebhookId } from "../../src/domain/Id.ts"
import { Run } from "../../src/domain/run/Run.ts"
import { finalStatuses } from "../../src/domain/run/RunStatus.ts"
import { TeamName } from "../../src/domain/Team.ts"
import { HistoryStore } from "../../src/repo/HistoryStore.ts"
import { LaneStore } from "../../src/repo/LaneStore.ts"
import { LeaseStore } from "../../src/repo/LeaseStore.ts"
import { ReplyKeyStore } from "../../src/repo/ReplyKeyStore.ts"
import { RunStore } from "../../src/repo/RunStore.ts"
import { knownSince } from "../../src/repo/sql/database/Migrations.ts"
import * as PgliteClient from "../../src/repo/sql/database/PgliteClient.ts"
import * as PostgresClient from "../../src/repo/sql/database/PostgresClient.ts"
import * as RepoSql from "../../src/repo/sql/RepoSql.ts"
import { TeamStore } from "../../src/repo/TeamStore.ts"
import { WebhookStore } from "../../src/repo/WebhookStore.ts"
import { freshDatabase } from "../support/fresh.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { temporaryFolder } from "../support/private.ts"

const dump = readFileSync(new URL("fixtures/first-release.sql", import.meta.url), "utf8")

/** The layers of both clients run the migrations when they are built. */
const pglite = Layer.unwrapScoped(
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    yield* Effect.promise(async () => {
      const db = await PGlite.create({ dataDir: join(folder, "database") })
      await db.exec(dump)
      await db.close()
    })
    return PgliteClient.layer({ folder })
  })
)
const postgresAt = (url: string) => PostgresClient.layer({ url: Redacted.make(url) })
const postgres = Layer.unwrapScoped(
  Effect.gen(function* () {
    const url = yield* freshDatabase
    yield* Effect.promise(() => queryPostgres(url, dump))
    return postgresAt(url)
  })
)
const databases = [
  { name: "PGlite", upgraded: Layer.orDie(pglite), empty: Layer.orDie(PgliteClient.layer()) },
  {
    name: "PostgreSQL",
    upgraded: Layer.orDie(postgres),
    empty: Layer.orDie(Layer.unwrapScoped(Effect.map(freshDatabase, postgresAt)))
  }
]

const deployId = WebhookId.make("019b7ca9-8f92-77ce-8675-ac4eff5a3f57")
const reviewId = WebhookId.make("019b7ca9-8ff6-716e-bb80-fd718b9b5d03")
const [deploy, review] = [TeamName.make("deploy"), TeamName.make("review")]
const sha256 = (text: string) => createHash("sha256").update(text).digest()
const tokenHash = (letter: string) => sha256(`whk_${letter.repeat(43)}`)

const toJson = Schema.encodeSync(Run)
const prompt = 'Deploy api to live.\nSay "done" – or what\'s wrong.'
const variables = { service: "api", env: { name: "live" } }

const historyOf = (webhook_id: WebhookId) =>
  HistoryStore.pipe(
    Effect.flatMap((history) => history.runs({ webhook_id, limit: 100 })),
    Effect.map(({ data }) => data.map((run) => toJson(run)))
  )

/** Columns, indexes and constraints, in a form that can be compared. */
const tables = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly name: string; readonly definition: string }>`
    select table_name || '.' || column_name as name,
      concat_ws(' ', data_type, datetime_precision, collation_name, is_nullable, is_identity, column_default) as definition
    from information_schema.columns where table_schema = 'webhook_trigger'
    union all
    select indexname, indexdef from pg_indexes where schemaname = 'webhook_trigger'
    union all
    select conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'webhook_trigger'::regnamespace
    order by name, definition`
)

for (const { name, upgraded, empty } of databases) {
  const repo = RepoSql.layer.pipe(Layer.provideMerge(upgraded))

  // Creating a database takes PGlite seconds of computing, many on a busy machine.
  layer(repo, { timeout: "120 seconds", excludeTestServices: true })(`a first release's ${name} database`, (it) => {
    it.effect(
      "has the same tables after the upgrade as a new one",
      () =>
        Effect.gen(function* () {
          const expected = yield* Effect.provide(tables, empty)
          expect(expected).not.toHaveLength(0)
          expect(yield* tables).toEqual(expected)
        }),
      120_000
    )

    it.effect("has an hour in which servers that do not sign prompts can be replaced", () =>
      Effect.gen(function* () {
        const { key, signed_from } = yield* (yield* ReplyKeyStore).replyKey
        expect(key).toHaveLength(32)
        const minutes = (DateTime.toEpochMillis(signed_from) - Date.now()) / 60_000
        expect(minutes).toBeGreaterThan(50)
        expect(minutes).toBeLessThanOrEqual(60)
      })
    )

    it.effect("has a column for every field of a webhook, and allows every status of a run", () =>
      Effect.gen(function* () {
        const known = yield* tables
        const columns = known.flatMap(({ name }) =>
          name.startsWith("webhooks.") ? name.slice("webhooks.".length) : []
        )
        expect(columns.toSorted()).toEqual(Object.keys(knownSince.webhooks).toSorted())
        const isAboutStatus = ({ definition }: { readonly definition: string }) =>
          definition.startsWith("CHECK") && definition.includes("status")
        const checks = known.filter(isAboutStatus).map(({ definition }) => definition)
        const wordsOf = (check: string) => Array.from(check.matchAll(/'(\w+)'/g), ([, word]) => word!).toSorted()
        expect(checks.map(wordsOf)).toContainEqual(Object.keys(knownSince.statuses).toSorted())
        expect(checks.map(wordsOf)).toContainEqual(finalStatuses.toSorted())
      })
    )

    it.effect("keeps its teams, with what is queued for them", () =>
      Effect.gen(function* () {
        const teams = yield* (yield* TeamStore).teams
        expect(teams.map(({ team, queued }) => [team, queued])).toEqual([
          ["deploy", 1],
          // And one that was admitted: it may or may not have been sent.
          ["review", 2],
          ["unused", 0]
        ])
      })
    )

    it.effect("keeps its webhooks, and their tokens open the enabled ones", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        expect((yield* store.webhooks).map(({ name, enabled }) => [name, enabled])).toEqual([
          ["Deploy", true],
          ["Old alarm", false],
          ["Review a branch", true]
        ])
        const [first, second, third] = yield* store.webhooksByToken(
          ["D", "A", "R"].map(tokenHash),
          DateTime.unsafeMake(0)
        )
        expect(first).toMatchObject({
          id: deployId,
          team: "deploy",
          prompt_template: 'Deploy {{service}} to {{env.name}}.\nSay "done" – or what\'s wrong.',
          variables: ["service", "env.name"],
          timeout_seconds: 120,
          max_concurrent: 2,
          token_hint: "…DDDD"
        })
        expect(second).toBeUndefined()
        // Its template is the first of its versions.
        expect(yield* store.templates(deployId)).toMatchObject([{ version: 1, actor: "unknown" }])
        expect(yield* store.template(deployId, 1)).toMatchObject({
          ...{ prompt_template: first!.prompt_template, template_language: "simple", input: "variables" }
        })
        expect(third).toMatchObject({ id: reviewId })
        expect(third).not.toHaveProperty("timeout_seconds")
        expect(yield* (yield* LaneStore).limits([deployId, reviewId])).toEqual(new Map([[deployId, 2]]))
      })
    )

    it.effect("shows its runs in every state as before", () =>
      Effect.gen(function* () {
        const runs = [...(yield* historyOf(deployId)), ...(yield* historyOf(reviewId))]
        expect(
          runs.map(({ mode, status, duration_ms, conversation, error }) => {
            const end = error?.code ?? conversation.response
            return [mode, status, duration_ms, end]
          })
        ).toEqual([
          ["wait", "queued", undefined, undefined],
          ["async", "error", undefined, "team_gone"],
          ["wait", "timeout", 119_900, "Late, but done."],
          ["async", "error", 1_900, "agent_error"],
          ["async", "success", 5_000, "It's live. 🎉\n```sh\necho done\n```"],
          ["async", "queued", undefined, undefined],
          ["async", "queued", undefined, undefined],
          ["async", "running", undefined, undefined],
          ["async", "running", undefined, undefined],
          ["async", "error", 460, "undeliverable"],
          ["wait", "success", 59_900, "Fine."]
        ])
        expect(runs[3]).toEqual({
          run_id: "019b7cab-63ee-7142-aeab-4145e54b0c61",
          source: "webhook",
          webhook_id: deployId,
          team: "deploy",
          mode: "async",
          status: "error",
          accepted_at: "2026-01-02T03:06:05.678Z",
          sent_at: "2026-01-02T03:06:05.718Z",
          started_at: "2026-01-02T03:06:05.778Z",
          finished_at: "2026-01-02T03:06:07.678Z",
          duration_ms: 1_900,
          variables,
          conversation: { prompt },
          error: { code: "agent_error", message: "The build is broken." }
        })
        const chat = (yield* (yield* HistoryStore).teamRuns(review, 100)).filter(({ source }) => source === "chat")
        expect(chat.map(({ conversation }) => conversation)).toEqual([
          { prompt: "Are you there?" },
          { prompt: "Hello", response: "Hello to you." }
        ])
      })
    )

    it.effect("counts the runs that it had, and those that a server of the release before ends meanwhile", () =>
      Effect.gen(function* () {
        const [history, sql] = [yield* HistoryStore, yield* SqlClient.SqlClient]
        const day = DateTime.unsafeMake("2026-01-02T00:00:00Z")
        const counts = Effect.map(history.activity(day, Duration.days(1)), (activity) =>
          Object.fromEntries(activity.map(({ webhook_id, bucket, ...counts }) => [webhook_id, counts]))
        )
        const rollUp = Effect.repeat(history.rollUp(DateTime.add(day, { days: 1 })), { while: (more) => more })
        const [running] = (yield* (yield* LaneStore).inFlight).map(({ run_id }) => run_id)
        const end = (status: string | null) => sql`
          update webhook_trigger.runs set status = coalesce(${status}, 'running'), started_at = sent_at,
            finished_at = case when ${status}::text is not null then now() end
          where id = ${running!}`
        yield* end("success")
        yield* rollUp
        expect(yield* counts).toEqual({
          [deployId]: { success: 1, error: 2, timeout: 1, cancelled: 0, live: 1 },
          [reviewId]: { success: 2, error: 1, timeout: 0, cancelled: 0, live: 3 }
        })
        yield* end(null)
      })
    )

    it.effect("goes on where it was: the next term, what was in flight, the lanes in their order, a used key", () =>
      Effect.gen(function* () {
        const [lanes, runs] = [yield* LaneStore, yield* RunStore]
        expect(yield* (yield* LeaseStore).acquireLease("third", Duration.minutes(1))).toEqual(Option.some(3))
        expect((yield* lanes.inFlight).map(({ prompt, status }) => [prompt, status])).toEqual([
          ["Review a", "running"],
          ["Review b", "running"],
          ["Review c", "queued"]
        ])

        const accepted_at = DateTime.unsafeMake("2026-01-02T03:18:20Z")
        const common = { mode: "async", timeout: Duration.minutes(5), accepted_at } as const
        const accepted = yield* runs.accept(
          [
            {
              ...common,
              run_id: yield* makeRunId,
              source: "chat",
              team: review,
              prompt: "And now?",
              variables: {}
            },
            {
              ...common,
              run_id: yield* makeRunId,
              source: "webhook",
              team: deploy,
              prompt,
              variables,
              webhook: { id: deployId, version: 1, token_hash: tokenHash("D") },
              idempotency: {
                key: "release-1",
                request_hash: sha256("1"),
                expires_at: DateTime.add(accepted_at, { days: 1 })
              }
            }
          ],
          { maxQueued: 100 }
        )
        expect(accepted).toMatchObject([
          { right: { _tag: "Accepted" } },
          { right: { _tag: "Repeated", run: { run_id: "019b7caa-798e-71fc-9871-bc4f48641d02" } } }
        ])

        const inReview = ["Review d", "Are you there?", "And now?"]
        expect((yield* lanes.lanes).toSorted()).toEqual([deploy, review])
        expect((yield* lanes.lane(deploy, 9)).map((run) => run.prompt)).toEqual([prompt])
        expect((yield* lanes.lane(review, 9)).map((run) => run.prompt)).toEqual(inReview)
      })
    )
  })
}
