import { expect } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { NotFound } from "../../../../src/domain/Errors.ts"
import { incomingFiles, maxFile, mostFiles } from "../../../../src/domain/run/RunFile.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acceptOne, admitNext, createWebhook, endOne, epoch, newRun, ops, outcomes, queueRun } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const bytes = Uint8Array.from({ length: 1_000 }, (_, i) => i & 255)
const files = incomingFiles([{ name: "a.bin", bytes }])
const [{ bytes: _, ...stored }] = files as [(typeof files)[number]]

export const runFiles = (test: Test): void => {
  test("files: stored with the run alone, given to its replays, and deleted with it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ max_queued: 2 })
    const run_id = yield* queueRun(webhook, { files })
    expect((yield* repo.run(run_id)).files).toEqual([stored])
    expect(Buffer.from(yield* repo.fileBytes(run_id, "in-1")).equals(bytes)).toBe(true)
    const replay = yield* queueRun(webhook, { replay_of: run_id, files: [stored] })
    expect(Buffer.from(yield* repo.fileBytes(replay, "in-1")).equals(bytes)).toBe(true)
    // One that is refused has none.
    const refused = yield* newRun(webhook, { files })
    expect((yield* Effect.flip(acceptOne(refused)))._tag).toBe("TooManyQueued")
    expect(yield* Effect.flip(repo.fileBytes(refused.run_id, "in-1"))).toEqual(new NotFound())
    yield* repo.deleteWebhook(webhook.id)
    expect(yield* Effect.flip(repo.fileBytes(run_id, "in-1"))).toEqual(new NotFound())
  })

  test("files: those by URL are stored once they are fetched, for replays, too", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const source = { url: "https://a.example/b?signature=s3cret", hosts: ["a.example"] }
    const named = { id: "in-2", name: "b", type: "text/plain" }
    const run_id = yield* queueRun(webhook, { files: [...files, { ...named, source }] })
    expect((yield* repo.run(run_id)).files).toEqual([stored, named])
    const early = yield* queueRun(webhook, { replay_of: run_id, files: [stored, named] })
    const wanted = Option.some({ source, name: "b", type: "text/plain", team: ops, webhook_id: webhook.id })
    for (const id of [run_id, early]) expect(yield* repo.wantedFile(id, "in-2")).toEqual(wanted)
    expect(yield* Effect.flip(repo.fileBytes(run_id, "in-2"))).toEqual(new NotFound())
    expect(yield* repo.wantedFile(run_id, "in-1")).toEqual(Option.none())
    yield* repo.keepFetched(run_id, "in-2", bytes)
    yield* repo.keepFetched(run_id, "in-2", new Uint8Array(1))
    expect(Buffer.from(yield* repo.fileBytes(run_id, "in-2")).equals(bytes)).toBe(true)
    expect(yield* repo.wantedFile(run_id, "in-2")).toEqual(Option.none())
    const fetched = { ...named, size: bytes.length }
    const late = yield* queueRun(webhook, { replay_of: run_id, files: [stored, fetched] })
    for (const id of [run_id, early, late]) {
      expect((yield* repo.run(id)).files).toEqual([stored, fetched])
      expect(Buffer.from(yield* repo.fileBytes(id, "in-2")).equals(bytes)).toBe(true)
    }
  })

  test("files: as many and as large as a request may have", function* () {
    const repo = yield* Repo
    const sent = Array.from({ length: mostFiles }, (_, i) => ({
      name: `${i}.bin`,
      bytes: new Uint8Array(maxFile).fill(i)
    }))
    const run_id = yield* queueRun(yield* createWebhook(), { files: incomingFiles(sent) })
    for (const [i, { bytes }] of sent.entries()) {
      expect(Buffer.compare(yield* repo.fileBytes(run_id, `in-${i + 1}`), bytes), `file ${i + 1}`).toBe(0)
    }
  })

  test("files: contents are removed once neither a run nor its replays have them", function* () {
    const repo = yield* Repo
    const later = DateTime.makeUnsafe(Date.now() + 3_600_000)
    // Those of other tests.
    yield* Effect.repeat(repo.removeContents(later), { while: (removed) => removed > 0 })
    const [one, other] = [yield* createWebhook({ max_queued: 1 }), yield* createWebhook()]
    const run_id = yield* queueRun(one, { files })
    const replay = yield* queueRun(other, { replay_of: run_id, files: [stored] })
    expect((yield* Effect.flip(acceptOne(yield* newRun(one, { files }))))._tag).toBe("TooManyQueued")
    expect(yield* repo.removeContents(DateTime.makeUnsafe(0))).toBe(0)
    // Those of the refused run.
    expect(yield* repo.removeContents(later)).toBe(1)
    yield* repo.deleteWebhook(one.id)
    expect(yield* repo.removeContents(later)).toBe(0)
    expect(Buffer.from(yield* repo.fileBytes(replay, "in-1")).equals(bytes)).toBe(true)
    yield* repo.deleteWebhook(other.id)
    expect(yield* repo.removeContents(later)).toBe(1)
    expect(yield* repo.removeContents(later)).toBe(0)
  })

  test("files: those of the agent are added in any order until an hour after the end; a later attempt replaces those of an earlier one", function* () {
    const repo = yield* Repo
    const run_id = yield* queueRun(yield* createWebhook(), { files })
    yield* repo.addFile(run_id, 1, { name: "early.txt", bytes })
    yield* admitNext()
    for (const n of [1, 10, 3, 2]) yield* repo.addFile(run_id, n, { name: `../${n}.txt`, type: "text/plain", bytes })
    yield* repo.addFile(run_id, 2, { name: "two.txt", bytes: bytes.subarray(1) })
    const shown = (yield* repo.run(run_id)).files ?? []
    expect(shown.map(({ id, name, size }) => [id, name, size])).toEqual([
      ["in-1", "a.bin", 1_000],
      ["out-1", "1.txt", 1_000],
      ["out-2", "two.txt", 999],
      ["out-3", "3.txt", 1_000],
      ["out-10", "10.txt", 1_000]
    ])
    expect(yield* repo.fileBytes(run_id, "out-2")).toHaveLength(999)
    yield* endOne(run_id, outcomes.success, 1)
    yield* repo.addFile(run_id, 1, { name: "late.txt", bytes })
    expect((yield* repo.run(run_id)).files).toEqual(shown)
    // Another server may have stored the answer that came after it.
    const next = yield* queueRun(yield* createWebhook())
    yield* admitNext()
    yield* endOne(next, outcomes.success, Date.now() - epoch)
    yield* repo.addFile(next, 1, { name: "a.txt", bytes })
    expect((yield* repo.run(next)).files).toMatchObject([{ id: "out-1" }])
  })
}
