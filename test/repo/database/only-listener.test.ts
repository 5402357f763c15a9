import { Effect, Exit, Queue, Redacted, Scope } from "effect"
import { subscribe } from "../../../src/repo/ChangeFeed.ts"
import { openSession } from "../../../src/repo/database/Driver.ts"
import { channel } from "../../../src/repo/database/Notifications.ts"
import { sessionOf } from "../../../src/repo/database/PostgresAddress.ts"
import { listen } from "../../../src/repo/database/PostgresListener.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { untilEffect } from "../../support/Until.ts"
import { createWebhook, endOne, sendRun, success } from "../contract/fixtures.ts"
import { replicaOf } from "../Replica.ts"

/** What is notified, as a session that is none of ours hears it. */
const overhear = (url: string) =>
  Effect.gen(function* () {
    const session = yield* openSession(sessionOf(Redacted.make(url)))
    const heard = yield* session.listen(channel)
    /** Everything that was notified before. */
    return Effect.gen(function* () {
      yield* session.execute(`select pg_notify('${channel}', 'end')`, [])
      const payloads: Array<string> = []
      while (payloads.at(-1) !== "end") payloads.push((yield* Queue.take(heard)).payload)
      return payloads.filter((payload) => payload !== "end")
    })
  })

/** Whether the session delivers by itself, as the only one. */
const isAlone = ({ deliver }: { readonly deliver?: (payload: string) => boolean }) =>
  Effect.sync(() => deliver!("hello"))

describe("a process that alone listens to its database", () => {
  it.live("notifies nobody of the ends of runs, and hears of them all the same", function* () {
    const url = yield* freshDatabase
    const repo = yield* replicaOf(url)
    const overheard = yield* overhear(url)
    const publish = repo.publish([{ _tag: "KeyTried", attempt: "a1b2,wrong,192.0.2.1" }])
    const isSilent = Effect.map(Effect.andThen(publish, overheard), (heard) => heard.length === 0)
    yield* untilEffect("it is alone", isSilent)
    const changes = yield* subscribe(repo)
    const id = yield* repo.use(Effect.flatMap(createWebhook(), (webhook) => sendRun(webhook, 1)))
    yield* repo.use(endOne(id, success("done"), 2))
    yield* Effect.repeat(Queue.take(changes), {
      until: (change) => change._tag === "RunEnded" && change.run_id === id
    })
    yield* publish
    yield* Effect.repeat(Queue.take(changes), { until: ({ _tag }) => _tag === "KeyTried" })
    expect((yield* overheard).filter((payload) => !payload.startsWith("WebhookChanged"))).toEqual([])
  })

  it.live("notifies others from their first moment until they are gone", function* () {
    const url = yield* freshDatabase
    const open = listen(sessionOf(Redacted.make(url)))
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

  it.live("does not rely on that while its connection is broken", function* () {
    const url = yield* freshDatabase
    let broken = false
    const options = sessionOf(Redacted.make(url))
    const connect = () => {
      if (broken) throw new Error("no way")
      return options.connect()
    }
    const session = yield* listen({ ...options, connect })
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
})
