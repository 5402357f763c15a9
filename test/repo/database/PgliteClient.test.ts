import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { vi } from "vitest"
import { RunId } from "../../../src/domain/Id.ts"
import { DataFolderInUse, hold } from "../../../src/repo/database/DataFolder.ts"
import * as PgliteClient from "../../../src/repo/database/PgliteClient.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { createWebhook, queueRun } from "../contract/fixtures.ts"

const repoIn = (folder: string) => RepoSql.layer.pipe(Layer.provide(PgliteClient.layer({ folder })))

// Creating a database takes PGlite seconds of computing, many on a busy machine.
describe("PgliteClient", () => {
  it.live("keeps its rows from one start to the next", function* () {
    const folder = join(yield* temporaryFolder, "new", "data")
    const id = yield* Effect.flatMap(createWebhook(), (webhook) => queueRun(webhook)).pipe(
      Effect.provide(repoIn(folder))
    )
    const run = yield* Effect.flatMap(Repo, (repo) => repo.run(id)).pipe(Effect.provide(repoIn(folder)))
    expect(run).toMatchObject({ run_id: id, status: "queued" })
  })

  it.live("keeps its only session, however long there is no statement", function* () {
    yield* Effect.acquireRelease(
      Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })),
      () => Effect.sync(() => vi.useRealTimers())
    )
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.promise(() => vi.advanceTimersByTimeAsync(300_000))
      expect(yield* sql`select 1 as one`).toEqual([{ one: 1 }])
    }).pipe(Effect.provide(PgliteClient.layer()))
  })

  it.live("makes anew what a process that was killed left half made", function* () {
    const folder = yield* temporaryFolder
    mkdirSync(join(folder, "database"))
    writeFileSync(join(folder, "database", "PG_VERSION"), "17")
    writeFileSync(join(folder, "database.unfinished"), "")
    const id = yield* Effect.flatMap(createWebhook(), (webhook) => queueRun(webhook)).pipe(
      Effect.provide(repoIn(folder))
    )
    const run = yield* Effect.flatMap(Repo, (repo) => repo.run(id)).pipe(Effect.provide(repoIn(folder)))
    expect(run.status).toBe("queued")
  })

  it.live("keeps what was accepted before its process was killed, and the folder is free again", function* () {
    const folder = join(yield* temporaryFolder, "data")
    const child = spawn("node_modules/.bin/vite-node", ["test/repo/database/acceptForever.ts", folder], {
      stdio: ["ignore", "pipe", "inherit"],
      detached: true
    })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
    // Behind the last line break is a line that may have been cut.
    const accepted = () => output.split("\n").slice(0, -1)
    yield* Effect.promise(async () => {
      while (accepted().length < 20) await once(child.stdout, "data")
      process.kill(-child.pid!, "SIGKILL")
      await once(child, "close")
    })
    yield* Effect.gen(function* () {
      const repo = yield* Repo
      for (const id of accepted()) expect((yield* repo.run(RunId.make(id))).status).toBe("queued")
      yield* queueRun(yield* createWebhook())
    }).pipe(Effect.provide(repoIn(folder)))
  })
})

describe("the data folder", () => {
  it.live("is held by one at a time", function* () {
    const folder = yield* temporaryFolder
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* hold(folder)
        expect(yield* Effect.flip(Effect.scoped(hold(folder)))).toEqual(
          new DataFolderInUse({ folder, pid: process.pid })
        )
      })
    )
    yield* hold(folder)
  })

  it.live("is free when the process that held it was killed, although nobody has waited for that one", function* () {
    const folder = join(yield* temporaryFolder, "data")
    const server = ["node_modules/.bin/vite-node", "test/repo/database/acceptForever.ts", folder]
    // Its parent becomes another program, which does not know that it has a child.
    const parent = spawn("sh", ["-c", '"$@" & echo "pid $!"; exec sleep 1000', "sh", ...server], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => parent.kill("SIGKILL")))
    const output: Array<string> = []
    parent.stdout.setEncoding("utf8").on("data", (text: string) => output.push(...text.split("\n").filter(Boolean)))
    yield* Effect.promise(async () => {
      while (output.length < 2) await once(parent.stdout, "data")
      process.kill(Number(output[0]!.slice("pid ".length)), "SIGKILL")
    })
    yield* Effect.retry(hold(folder), {
      while: (error) => error._tag === "DataFolderInUse",
      times: 1_000,
      schedule: Schedule.spaced("50 millis")
    })
  })

  it.live("is taken over from a dead process by exactly one of many", function* () {
    const folder = yield* temporaryFolder
    mkdirSync(folder, { recursive: true })
    // The number is ours, the time of its start is not: a process of the same number, before this one.
    writeFileSync(join(folder, "lock"), JSON.stringify({ pid: process.pid, born: "another boot 1" }))
    const exits = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.exit(hold(folder)), {
      concurrency: "unbounded"
    })
    expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
  })
})
