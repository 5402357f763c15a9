/** The contents of files in a bucket, whose server may fail. */

import { Context, DateTime, Deferred, Effect, Fiber, Layer, Option, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../src/domain/Id.ts"
import { incomingFiles } from "../../src/domain/run/RunFile.ts"
import * as TestDatabase from "../../src/repo/database/TestDatabase.ts"
import { Repo } from "../../src/repo/Repo.ts"
import * as RepoSql from "../../src/repo/RepoSql.ts"
import { FileBucket } from "../../src/repo/run/FileBucket.ts"
import * as S3 from "../../src/repo/s3/S3.ts"
import { collectGarbage } from "../support/Garbage.ts"
import { describe, expect, it, vi } from "../support/It.ts"
import { s3Server } from "../support/S3Server.ts"
import { admitNext, createWebhook, newRun, queueRun } from "./contract/fixtures.ts"
import type { Test } from "./contract/RepoContract.ts"
import { runFiles } from "./contract/run/files.ts"
import { withSqlRepo } from "./SqlRepo.ts"

class Server extends Context.Service<Server, Effect.Success<typeof s3Server>>()("test/S3Server") {}

const bucket = Layer.unwrap(Effect.map(Server, ({ settings }) => S3.layer(settings)))
const withRepo = withSqlRepo(
  bucket.pipe(Layer.provideMerge(Layer.effect(Server, s3Server)), Layer.merge(TestDatabase.layer))
)
const test: Test = (name, body) => it.live(name, () => withRepo(Effect.gen(body)))

/** With the bucket's server, which works at first and is empty. The repo's layer has all that tests need, and its type less. */
const inBucket = (
  name: string,
  body: (
    server: Server["Service"]
  ) => Effect.Effect<unknown, unknown, Repo | Server | SqlClient.SqlClient | RepoSql.Notifications | Scope.Scope>,
  timeout?: number
) =>
  it.live(
    name,
    () =>
      withRepo(
        Effect.flatMap(Server, (server) => {
          server.faultsOf.clear()
          server.objects.clear()
          server.requests.length = 0
          server.silentFor = undefined
          server.mayList = true
          return body(server)
        }) as Effect.Effect<unknown, unknown, Repo | Scope.Scope>
      ),
    timeout
  )

/** The same rows, as a server with other settings has them. */
const elsewhere = (settings: Option.Option<S3.S3Settings>) =>
  Effect.flatMap(
    Layer.build(Layer.provide(Layer.fresh(RepoSql.layer), Layer.succeed(FileBucket, Option.map(settings, S3.make)))),
    (context) => Effect.provide(Repo, context)
  )

const bytes = Uint8Array.from({ length: 1_000 }, (_, i) => i & 255)
const files = incomingFiles([{ name: "a.bin", bytes }])
const later = DateTime.makeUnsafe(Date.now() + 3_600_000)

/** As the servers do it. Those that were tried before are due again. */
const moveAll = (repo: Effect.Success<typeof Repo>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`update webhook_trigger.file_contents set move_at = now()`
    yield* Effect.repeat(repo.moveContents, { while: (moved) => moved > 0 })
  })

const removeAll = (repo: Effect.Success<typeof Repo>) =>
  Effect.repeat(repo.removeContents(later), { while: (removed) => removed > 0 })

const equal = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0

describe("files in a bucket", () => {
  runFiles(test)

  inBucket("are in the database until they are in the bucket, and in one of them from then on", ({ objects }) =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const run_id = yield* queueRun(yield* createWebhook(), { files })
      const sql = yield* SqlClient.SqlClient
      const stored = sql`
        select bytes is not null as here, in_bucket from webhook_trigger.file_contents where key = ${`${run_id}/in-1`}`
      expect(yield* stored).toEqual([{ here: true, in_bucket: true }])
      expect([objects.size, equal(yield* repo.fileBytes(run_id, "in-1"), bytes)]).toEqual([0, true])
      yield* moveAll(repo)
      expect(yield* stored).toEqual([{ here: false, in_bucket: true }])
      expect(equal(objects.get(`hooks/${run_id}/in-1`)!, bytes)).toBe(true)
      expect(equal(yield* repo.fileBytes(run_id, "in-1"), bytes)).toBe(true)
      expect(yield* repo.moveContents).toBe(0)
    })
  )

  inBucket(
    "no request and no agent's file waits for a bucket, and one that it does not take delays no other's move",
    (server) =>
      Effect.gen(function* () {
        const repo = yield* Repo
        yield* moveAll(repo)
        const webhook = yield* createWebhook()
        const held: Array<RunId> = []
        for (let n = 0; n < 5; n++) held.push(yield* queueRun(webhook, { files }))
        server.silentFor = new RegExp(held.join("|"))
        yield* admitNext()
        yield* repo.addFile(held[0]!, 1, { name: "out.txt", bytes })
        const other = yield* queueRun(webhook, { files })
        expect(equal(yield* repo.fileBytes(held[0]!, "out-1"), bytes)).toBe(true)
        // The first ones wait as long as an operation on the bucket may take. Those behind them are next.
        expect(yield* repo.moveContents).toBe(0)
        expect(yield* repo.moveContents).toBe(1)
        expect([...server.objects.keys()]).toEqual([`hooks/${other}/in-1`])
        server.silentFor = undefined
        yield* moveAll(repo)
        expect(server.objects.size).toBe(7)
        for (const run_id of held) expect(equal(yield* repo.fileBytes(run_id, "in-1"), bytes)).toBe(true)
      }),
    60_000
  )

  inBucket("what was removed while it was moved leaves no object", (server) =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* createWebhook()
      const run_id = yield* queueRun(webhook, { files })
      const removed = yield* Deferred.make<void>()
      const context = yield* Effect.context()
      server.onPut = () => {
        server.onPut = () => {}
        const remove = Effect.andThen(
          repo.deleteWebhook(webhook.id),
          sql`delete from webhook_trigger.file_contents where key = ${`${run_id}/in-1`}`
        )
        return Effect.runPromiseWith(context)(
          Effect.asVoid(Deferred.into(Effect.asVoid(Effect.orDie(remove)), removed))
        )
      }
      yield* moveAll(repo)
      yield* Deferred.await(removed)
      expect(server.objects.size).toBe(0)
    })
  )

  inBucket("objects are removed as soon as the bucket can be reached", ({ faultsOf, objects }) =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const run_id = yield* queueRun(webhook, { files })
      yield* admitNext()
      for (const name of ["first.txt", "second.txt"]) yield* repo.addFile(run_id, 1, { name, bytes })
      yield* moveAll(repo)
      expect(objects.size).toBe(3)
      yield* removeAll(repo)
      // Without that of the earlier attempt.
      expect(objects.size).toBe(2)
      yield* repo.deleteWebhook(webhook.id)
      faultsOf.set("DELETE", [403, "AccessDenied"])
      expect(yield* Effect.flip(repo.removeContents(later))).toMatchObject({ _tag: "Unavailable", what: "files" })
      expect(objects.size).toBe(2)
      faultsOf.clear()
      expect(yield* repo.removeContents(later)).toBe(2)
      expect([objects.size, yield* repo.removeContents(later)]).toEqual([0, 0])
    })
  )

  inBucket(
    "those stored before are read where they are; without the setting, those in the bucket are not removed",
    ({ objects, settings }) =>
      Effect.gen(function* () {
        const repo = yield* Repo
        yield* removeAll(repo)
        const before = yield* elsewhere(Option.none())
        const webhook = yield* createWebhook()
        const run = yield* newRun(webhook, { files })
        yield* before.step(
          { accepts: [run] },
          { maxQueued: 10, at: run.accepted_at, limits: { total: 0, webhooks: new Map() }, led: [] }
        )
        expect(objects.size).toBe(0)
        expect(equal(yield* repo.fileBytes(run.run_id, "in-1"), bytes)).toBe(true)
        const run_id = yield* queueRun(webhook, { files })
        yield* moveAll(repo)
        expect(yield* Effect.flip(before.fileBytes(run_id, "in-1"))).toMatchObject({
          what: "files",
          detail: expect.stringContaining("WEBHOOK_FILES_S3 is not set")
        })
        yield* repo.deleteWebhook(webhook.id)
        expect([yield* before.removeContents(later), yield* before.removeContents(later)]).toEqual([2, 0])
        expect(objects.size).toBe(1)
        const again = yield* elsewhere(Option.some(settings))
        expect([yield* again.removeContents(later), objects.size]).toEqual([1, 0])
      })
  )

  inBucket("one whose object is gone, or may not be read, is named as missing, with what to grant", (server) =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const run_id = yield* queueRun(yield* createWebhook(), { files })
      yield* moveAll(repo)
      const failure = Effect.flip(repo.fileBytes(run_id, "in-1"))
      server.faults.push([403, "SignatureDoesNotMatch"])
      expect(yield* failure).toMatchObject({ _tag: "Unavailable", what: "files" })
      server.objects.clear()
      expect(yield* failure).toMatchObject({
        _tag: "FileMissing",
        reason: "The bucket of the server no longer has it."
      })
      server.mayList = false
      server.requests.length = 0
      expect(yield* failure).toMatchObject({ _tag: "FileMissing", reason: expect.stringContaining("s3:ListBucket") })
      expect(server.requests).toHaveLength(1)
    })
  )
})

describe("a bucket", () => {
  it.live("that refuses says why, without secrets and once", function* () {
    const server = yield* s3Server
    const put = (settings: Partial<typeof server.settings> = {}) =>
      Effect.map(
        Effect.flip(S3.make({ ...server.settings, ...settings }).put("a", bytes)),
        ({ detail }) => /(?:with|:) ([^:]+)\.$/.exec(detail)?.[1]
      )
    expect(yield* put({ secret: Redacted.make("another") })).toBe("403 SignatureDoesNotMatch")
    expect(yield* put({ keyId: Redacted.make("another") })).toBe("403 InvalidAccessKeyId")
    expect(yield* put({ region: "us-east-1" })).toBe("400 AuthorizationHeaderMalformed")
    expect(yield* put({ url: `${server.origin}/other` })).toBe("404 NoSuchBucket")
    server.faults.push([301, "PermanentRedirect"])
    expect(yield* put()).toBe("301 PermanentRedirect")
    server.skew = 20 * 60_000
    expect(yield* put()).toBe("403 RequestTimeTooSkewed")
    expect(server.requests.filter((request) => request.startsWith("PUT"))).toHaveLength(6)
    server.server.close()
    server.server.closeAllConnections()
    expect(yield* put()).toBe("ECONNREFUSED")
  })

  it.live(
    "that does not answer is given up after ten seconds, however many wait and whatever the garbage collector does",
    () =>
      Effect.gen(function* () {
        const { faultsOf, requests, settings } = yield* s3Server
        for (const method of ["GET", "PUT", "DELETE"]) faultsOf.set(method, "silence")
        const bucket = S3.make(settings)
        const waiting = yield* Effect.forkChild(
          Effect.all([bucket.get("a"), bucket.put("a", bytes), bucket.remove("a"), bucket.get("b")].map(Effect.flip), {
            concurrency: "unbounded"
          })
        )
        yield* Effect.promise(() => vi.waitUntil(() => requests.length === 4))
        collectGarbage()
        for (const error of yield* Fiber.join(waiting))
          expect(error).toMatchObject({ detail: expect.stringContaining("no answer within 10 seconds") })
        expect(requests).toHaveLength(4)
      }),
    60_000
  )

  it.live("with Object Lock gets the checksum that it asks for", function* () {
    const server = yield* s3Server
    server.isLocked = true
    for (const content of [bytes, new Uint8Array()]) yield* S3.make(server.settings).put("a", content)
    expect(server.objects.get("hooks/a")).toHaveLength(0)
  })

  it.live("has objects of any bytes, under prefixes with any characters that settings allow", function* () {
    const { objects, origin, settings } = yield* s3Server
    const bucket = S3.make({ ...settings, url: `${origin}/files/a-b_c.d/E9` })
    for (const content of [new Uint8Array(), Buffer.alloc(5_000_000, 7), Buffer.from("\r\n\0ÿ")]) {
      yield* bucket.put("x.y-z/in-1", content)
      expect(Buffer.compare(Option.getOrThrow(yield* bucket.get("x.y-z/in-1")), content)).toBe(0)
    }
    expect([...objects.keys()]).toEqual(["a-b_c.d/E9/x.y-z/in-1"])
    yield* bucket.remove("x.y-z/in-1")
    yield* bucket.remove("x.y-z/in-1")
    expect(yield* bucket.get("x.y-z/in-1")).toEqual(Option.none())
  })
})
