/** The contents of files in a bucket, whose server may fail. */
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Option, Redacted, type Scope } from "effect"
import { NotFound } from "../../../src/domain/Errors.ts"
import { incomingFiles } from "../../../src/domain/run/RunFile.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { FileBucket } from "../../../src/repo/run/FileBucket.ts"
import * as S3 from "../../../src/repo/s3/S3.ts"
import * as TestDatabase from "../../../src/repo/sql/database/TestDatabase.ts"
import * as RepoSql from "../../../src/repo/sql/RepoSql.ts"
import { s3Server } from "../../support/S3Server.ts"
import { acceptOne, admitNext, createWebhook, newRun, queueRun } from "../contract/fixtures.ts"
import type { Test } from "../contract/RepoContract.ts"
import { runFiles } from "../contract/run/files.ts"
import { withSqlRepo } from "./SqlRepo.ts"

class Server extends Context.Tag("test/S3Server")<Server, Effect.Effect.Success<typeof s3Server>>() {}

const bucket = Layer.unwrapEffect(Effect.map(Server, ({ settings }) => S3.layer(settings)))
const withRepo = withSqlRepo(
  bucket.pipe(Layer.provideMerge(Layer.scoped(Server, s3Server)), Layer.merge(TestDatabase.layer))
)
const test: Test = (name, body) => it.live(name, () => withRepo(body))

/** With the bucket's server, which works at first and is empty. The repo's layer has all that tests need, and its type less. */
const inBucket = (
  name: string,
  body: (
    server: Server["Type"]
  ) => Effect.Effect<unknown, unknown, Repo | Server | SqlClient.SqlClient | RepoSql.Notifications | Scope.Scope>
) =>
  test(
    name,
    Effect.flatMap(Server, (server) => {
      server.faultsOf.clear()
      server.objects.clear()
      server.requests.length = 0
      return body(server)
    }) as Effect.Effect<unknown, unknown, Repo | Scope.Scope>
  )

/** The same rows, as a server with other settings has them. */
const elsewhere = (settings: Option.Option<S3.S3Settings>) =>
  Effect.flatMap(
    Layer.build(Layer.provide(RepoSql.layer, Layer.succeed(FileBucket, Option.map(settings, S3.make)))),
    (context) => Effect.provide(Repo, context)
  )

const bytes = Uint8Array.from({ length: 1_000 }, (_, i) => i & 255)
const files = incomingFiles([{ name: "a.bin", bytes }])
const later = DateTime.unsafeMake(Date.now() + 3_600_000)

const removeAll = (repo: Effect.Effect.Success<typeof Repo>) =>
  Effect.repeat(repo.removeContents(later), { while: (removed) => removed > 0 })

const equal = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0

describe("files in a bucket", () => {
  runFiles(test)

  inBucket("are not in the database", ({ objects }) =>
    Effect.gen(function* () {
      const run_id = yield* queueRun(yield* createWebhook(), { files })
      expect(equal(objects.get(`hooks/${run_id}/in-1`)!, bytes)).toBe(true)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`
        select bytes, in_bucket from webhook_trigger.file_contents where key = ${`${run_id}/in-1`}`
      expect(rows).toEqual([{ bytes: null, in_bucket: true }])
    })
  )

  inBucket(
    "a run is not accepted until its files are stored, and what a failure leaves is removed",
    ({ faults, faultsOf, objects, requests }) =>
      Effect.gen(function* () {
        const repo = yield* Repo
        const webhook = yield* createWebhook()
        const run = yield* newRun(webhook, { files })
        faultsOf.set("PUT", [503, "SlowDown"])
        requests.length = 0
        const error = yield* Effect.flip(acceptOne(run))
        expect(error).toMatchObject({ _tag: "Unavailable", what: "files", not_done: true })
        expect((error as { readonly detail: string }).detail).toMatch(/answered PUT with 503 SlowDown\.$/)
        expect(requests).toHaveLength(3)
        expect(yield* Effect.flip(repo.run(run.run_id))).toEqual(new NotFound())
        // As after a crash.
        expect(yield* repo.removeContents(later)).toBe(1)
        faultsOf.clear()
        // The third attempt succeeds.
        faults.push([500, "InternalError"], "reset")
        const run_id = yield* queueRun(webhook, { files })
        expect(equal(yield* repo.fileBytes(run_id, "in-1"), bytes)).toBe(true)
        expect([...objects.keys()]).toEqual([`hooks/${run_id}/in-1`])
      })
  )

  inBucket("objects are removed as soon as the bucket can be reached", ({ faultsOf, objects }) =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const run_id = yield* queueRun(webhook, { files })
      yield* admitNext()
      for (const name of ["first.txt", "second.txt"]) yield* repo.addFile(run_id, 1, { name, bytes })
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

  inBucket(
    "one whose object is gone is not found, and one that the server may not read is unavailable",
    ({ faults, objects }) =>
      Effect.gen(function* () {
        const repo = yield* Repo
        const run_id = yield* queueRun(yield* createWebhook(), { files })
        faults.push([403, "AccessDenied"])
        expect(yield* Effect.flip(repo.fileBytes(run_id, "in-1"))).toMatchObject({ what: "files" })
        objects.clear()
        expect(yield* Effect.flip(repo.fileBytes(run_id, "in-1"))).toEqual(new NotFound())
      })
  )
})

describe("a bucket", () => {
  it.scopedLive("that refuses says why, without secrets and once", () =>
    Effect.gen(function* () {
      const server = yield* s3Server
      const put = (settings: Partial<S3.S3Settings> = {}) =>
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
  )

  it.scopedLive("that does not answer is given up after ten seconds", () =>
    Effect.gen(function* () {
      const { faultsOf, requests, settings } = yield* s3Server
      faultsOf.set("GET", "silence")
      const { detail } = yield* Effect.flip(S3.make(settings).get("a"))
      expect(detail).toContain("no answer within 10 seconds")
      expect(requests).toHaveLength(1)
    })
  )

  it.scopedLive("has objects of any bytes, under prefixes with any characters that settings allow", () =>
    Effect.gen(function* () {
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
  )
})
