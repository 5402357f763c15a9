import { execFileSync } from "node:child_process"
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Option, TestClock } from "effect"
import * as Checkout from "../../../src/leader/workspace/Checkout.ts"
import * as Mirror from "../../../src/leader/workspace/Mirror.ts"
import { makePrompt } from "../../bus/contract/support.ts"
import { untilEffect } from "../../support/Until.ts"
import { folderInPath } from "../agents/Leading.ts"
import { copiesOf, repository, temporaryFolder } from "./Repositories.ts"

/** Git whose command never ends. Waits until it runs. */
const hanging = (command: string) =>
  Effect.gen(function* () {
    const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim()
    const programs = yield* folderInPath
    const hangs = join(programs, "hangs")
    const script = `#!/bin/sh\ncase " $* " in *" ${command} "*) touch ${hangs}; exec sleep 600;; esac\nexec ${real} "$@"\n`
    writeFileSync(join(programs, "git"), script, { mode: 0o755 })
    return untilEffect(
      "git hangs",
      Effect.sync(() => existsSync(hangs))
    )
  })

const after = (duration: Duration.DurationInput, working: Fiber.Fiber<unknown, unknown>) =>
  TestClock.adjust(duration).pipe(
    Effect.zipRight(
      untilEffect(
        "the work has ended",
        Effect.zipRight(TestClock.adjust("10 millis"), Effect.map(Fiber.poll(working), Option.getOrUndefined))
      )
    )
  )

const fetching = Effect.gen(function* () {
  const { url } = yield* repository
  const folder = yield* temporaryFolder
  const [mirrors, locks] = [join(folder, "mirrors"), join(folder, "locks")]
  mkdirSync(mirrors)
  const hangs = yield* hanging("fetch")
  const working = yield* Effect.fork(
    Mirror.commitOf({ mirrors, locks, url, ref: "main", place: {}, who: "run 1", onWait: () => {} })
  )
  yield* hangs
  const [lock = ""] = readdirSync(locks)
  return { lock: join(locks, lock, "lock"), working }
})

it.scoped("a remote that hangs gives the mirror's lock back to the others after 15 minutes", () =>
  Effect.gen(function* () {
    const { lock, working } = yield* fetching
    yield* TestClock.adjust("14 minutes")
    expect(existsSync(lock)).toBe(true)
    const message = "git fetch failed: it did not end within 15 minutes"
    expect(yield* after("1 minute", working)).toEqual(Exit.fail(expect.objectContaining({ message })))
    expect(existsSync(lock)).toBe(false)
  })
)

it.scoped("a fetch stops when another process has taken the mirror's lock", () =>
  Effect.gen(function* () {
    const { lock, working } = yield* fetching
    writeFileSync(lock, JSON.stringify({ token: "theirs", who: "run 2" }))
    const message = "The folder was taken by run 2"
    expect(yield* after("5 seconds", working)).toEqual(Exit.fail(expect.objectContaining({ message })))
  })
)

it.scoped("a push that hangs costs the answer a minute, and not more", () =>
  Effect.gen(function* () {
    const { first, folder, url } = yield* repository
    const prompt = yield* makePrompt({})
    const hangs = yield* hanging("push")
    const checkout = { repository: copiesOf(url), place: { folder }, included: folder, branch: "webhook/1" }
    const pushing = Checkout.push(
      { ...checkout, task: { prompt, progress: () => {} } },
      { base: first, head: "0".repeat(40) }
    )
    // As after the agent's work, which ends even if it is interrupted.
    const working = yield* Effect.fork(Effect.uninterruptible(pushing))
    yield* hangs
    const note = "The branch webhook/1 was not pushed: git push did not end within 1 minute"
    expect(yield* after("1 minute", working)).toEqual(Exit.succeed({ note }))
  })
)

it.scopedLive("goes on beside the lock that a killed git has left in the mirror's configuration", () =>
  Effect.gen(function* () {
    const { first, url } = yield* repository
    const folder = yield* temporaryFolder
    const [mirrors, locks] = [join(folder, "mirrors"), join(folder, "locks")]
    mkdirSync(mirrors)
    const fetch = Mirror.commitOf({ mirrors, locks, url, ref: "main", place: {}, who: "run 1", onWait: () => {} })
    const { mirror } = yield* fetch
    writeFileSync(join(mirror, "config.lock"), "")
    expect(yield* fetch).toEqual({ mirror, sha: first })
  })
)

it.scopedLive("runs nothing that an agent of the same user has written to the mirror's configuration", () =>
  Effect.gen(function* () {
    const { commit, url } = yield* repository
    const folder = yield* temporaryFolder
    const [mirrors, locks, ran] = [join(folder, "mirrors"), join(folder, "locks"), join(folder, "ran")]
    mkdirSync(mirrors)
    const fetch = Mirror.commitOf({ mirrors, locks, url, ref: "main", place: {}, who: "run 1", onWait: () => {} })
    const { mirror } = yield* fetch
    const evil = `[protocol "ext"]\nallow = always\n[url "ext::touch ${ran} "]\ninsteadOf = file://\n`
    appendFileSync(join(mirror, "config"), evil)
    const sha = commit("main", { "readme.md": "second\n" })
    expect(yield* fetch).toEqual({ mirror, sha })
    expect(existsSync(ran)).toBe(false)
  })
)
