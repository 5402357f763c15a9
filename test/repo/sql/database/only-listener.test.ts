import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import pg from "pg"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { channel } from "../../../../src/repo/sql/database/Notifications.ts"
import { openSession } from "../../../../src/repo/sql/database/PostgresSession.ts"
import { freshDatabase } from "../../../support/fresh.ts"
import { queryPostgres } from "../../../support/Postgres.ts"
import { untilEffect } from "../../../support/Until.ts"
import { createWebhook, endOne, sendRun, success } from "../../contract/fixtures.ts"
import { replicaOf } from "../Replica.ts"

/** What is notified, as a session that is none of ours hears it. */
const overhear = (url: string) =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const client = new pg.Client(url)
        await client.connect()
        return client
      }),
      (client) => Effect.promise(() => client.end())
    )
    const heard: Array<string> = []
    client.on("notification", ({ payload }) => heard.push(payload!))
    yield* Effect.promise(() => client.query(`listen ${channel}`))
    /** Everything that was notified before. */
    return Effect.gen(function* () {
      yield* Effect.promise(() => client.query(`select pg_notify('${channel}', 'end')`))
      yield* untilEffect(
        "the notification is heard",
        Effect.sync(() => heard.at(-1) === "end")
      )
      return heard.splice(0).filter((payload) => payload !== "end")
    })
  })

/** Whether the session delivers by itself, as the only one. */
const isAlone = ({ deliver }: { readonly deliver?: (payload: string) => boolean }) =>
  Effect.sync(() => deliver!("hello"))

describe("a process that alone listens to its database", () => {
  it.live("notifies nobody of the ends of runs, and hears of them all the same", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repo = yield* replicaOf(url)
      const overheard = yield* overhear(url)
      const publish = repo.publish([{ _tag: "KeyTried", attempt: "a1b2,wrong,192.0.2.1" }])
      const isSilent = Effect.map(Effect.andThen(publish, overheard), (heard) => heard.length === 0)
      yield* untilEffect("it is alone", isSilent)
      const changes = yield* subscribe(repo)
      const id = yield* repo.use(Effect.flatMap(createWebhook(), (webhook) => sendRun(webhook, 1)))
      yield* repo.use(endOne(id, success("done"), 2))
      yield* Effect.repeat(changes.take, { until: (change) => change._tag === "RunEnded" && change.run_id === id })
      yield* publish
      yield* Effect.repeat(changes.take, { until: ({ _tag }) => _tag === "KeyTried" })
      expect((yield* overheard).filter((payload) => !payload.startsWith("WebhookChanged"))).toEqual([])
    })
  )

  it.live("notifies others from their first moment until they are gone", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const open = openSession(() => new pg.Client(url))
      const first = yield* open
      yield* untilEffect("it is alone", isAlone(first))
      const heard: Array<string> = []
      yield* first.listen((payload) => heard.push(payload))

      const scope = yield* Scope.make()
      const second = yield* Scope.provide(open, scope)
      expect(yield* isAlone(second)).toBe(false)
      // What is notified after its beginning comes after the news of that.
      yield* Effect.promise(() => queryPostgres(url, `select pg_notify('${channel}', 'later')`))
      yield* untilEffect(
        "the first one hears it",
        Effect.sync(() => heard.includes("later"))
      )
      expect(yield* isAlone(first)).toBe(false)

      yield* Scope.close(scope, Exit.void)
      yield* untilEffect("the first one is alone", isAlone(first))
    })
  )

  it.live("does not rely on that while its connection is broken", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      let broken = false
      const session = yield* openSession(() => {
        if (broken) throw new Error("no way")
        return new pg.Client(url)
      })
      yield* untilEffect("it is alone", isAlone(session))
      broken = true
      const end = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
      yield* Effect.promise(() => queryPostgres(url, end))
      yield* untilEffect(
        "it is not known any more",
        Effect.map(isAlone(session), (alone) => !alone)
      )
    })
  )
})
