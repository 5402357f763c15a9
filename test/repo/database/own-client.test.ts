import { PgClient } from "@effect/sql-pg"
import { Effect, Fiber, Layer, Queue, Redacted, String } from "effect"
import { type Change, subscribe } from "../../../src/repo/ChangeFeed.ts"
import * as PostgresNotifications from "../../../src/repo/database/PostgresNotifications.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { admitOne, createWebhook, endOne, ops, outRuns, queueRun, success } from "../contract/fixtures.ts"
import { replicaOf, replicaWith } from "../Replica.ts"

/** What a host has that reads its own tables in camel case. */
const hostClient = (url: string) =>
  PgClient.layer({
    url: Redacted.make(url),
    connectTimeout: "1 minute",
    transformQueryNames: String.camelToSnake,
    transformResultNames: String.snakeToCamel
  })

const hosted = <E>(url: string, notifications: Layer.Layer<RepoSql.Notifications, E>) =>
  RepoSql.layer.pipe(
    Layer.provide(notifications),
    Layer.provide(Layer.effectDiscard(RepoSql.migrate)),
    Layer.provide(hostClient(url))
  )

describe("a host's own SqlClient", () => {
  it.live("serves the repo, whatever names it transforms", function* () {
    const repo = yield* replicaWith(hosted(yield* freshDatabase, RepoSql.Notifications.layerPolling))
    yield* Effect.gen(function* () {
      const webhook = yield* createWebhook({ timeout_seconds: 3 })
      const { token_hash: _, ...shown } = webhook
      expect(yield* repo.webhook(webhook.id)).toEqual(shown)
      const id = yield* queueRun(webhook)
      expect(yield* admitOne(id)).toBe(true)
      expect(yield* outRuns).toMatchObject([{ run_id: id, webhook: { id: webhook.id, name: webhook.name } }])
      const ended = yield* endOne(id, success("done"), 5)
      expect(ended).toEqual({ recorded: true, run: yield* repo.run(id) })
      expect(yield* repo.deleteWebhook(webhook.id)).toEqual([])
      yield* repo.deleteTeam(ops)
    }).pipe(repo.use)
  })

  it.live("is notified of changes over a connection beside it", function* () {
    const url = yield* freshDatabase
    const notifications = PostgresNotifications.layer({ url: Redacted.make(url) })
    const [a, b] = [yield* replicaWith(hosted(url, notifications)), yield* replicaOf(url)]
    const changes = yield* subscribe(a)
    const change = yield* Effect.forkChild(Queue.take(changes))
    const possible: Array<Change> = []
    // A notification is lost while the listener connects again.
    yield* repeatUntil(
      Effect.map(b.use(createWebhook()), ({ id }) => possible.push({ _tag: "WebhookChanged", webhook_id: id })),
      () => change.pollUnsafe() !== undefined
    )
    expect(possible).toContainEqual(yield* Fiber.join(change))
  })
})
