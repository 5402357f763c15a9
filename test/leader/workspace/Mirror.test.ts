import { execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { type Duration, Effect, Exit, type Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Checkout from "../../../src/leader/workspace/Checkout.ts"
import * as Mirror from "../../../src/leader/workspace/Mirror.ts"
import { makePrompt } from "../../bus/contract/support.ts"
import { expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"
import { folderInPath } from "../agents/Leading.ts"
import { copiesOf, repository } from "./Repositories.ts"

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

const after = (duration: Duration.Input, working: Fiber.Fiber<unknown, unknown>) =>
  TestClock.adjust(duration).pipe(
    Effect.andThen(
      untilEffect(
        "the work has ended",
        Effect.andThen(
          TestClock.adjust("10 millis"),
          Effect.sync(() => working.pollUnsafe())
        )
      )
    )
  )

const fetching = Effect.gen(function* () {
  const { url } = yield* repository
  const folder = yield* temporaryFolder
  const [mirrors, locks] = [join(folder, "mirrors"), join(folder, "locks")]
  mkdirSync(mirrors)
  const hangs = yield* hanging("fetch")
  const working = yield* Effect.forkChild(
    Mirror.commitOf({ mirrors, locks, url, ref: "main", place: {}, who: "run 1", onWait: () => {} })
  )
  yield* hangs
  const [lock = ""] = readdirSync(locks)
  return { lock: join(locks, lock, "lock"), working }
})

it.effect("a remote that hangs gives the mirror's lock back to the others after 15 minutes", function* () {
  const { lock, working } = yield* fetching
  yield* TestClock.adjust("14 minutes")
  expect(existsSync(lock)).toBe(true)
  const message = "git fetch failed: it did not end within 15 minutes"
  expect(yield* after("1 minute", working)).toEqual(Exit.fail(expect.objectContaining({ message })))
  expect(existsSync(lock)).toBe(false)
})

it.effect("a fetch stops when another process has taken the mirror's lock", function* () {
  const { lock, working } = yield* fetching
  writeFileSync(lock, JSON.stringify({ token: "theirs", who: "run 2" }))
  const message = "The folder was taken by run 2"
  expect(yield* after("5 seconds", working)).toEqual(Exit.fail(expect.objectContaining({ message })))
})

it.effect("a push that hangs costs the answer a minute, and not more", function* () {
  const { first, folder, url } = yield* repository
  const prompt = yield* makePrompt({})
  const hangs = yield* hanging("push")
  const checkout = { repository: copiesOf(url), place: { folder }, included: folder, branch: "webhook/1" }
  const pushing = Checkout.push(
    { ...checkout, task: { prompt, progress: () => {} } },
    { base: first, head: "0".repeat(40) }
  )
  // As after the agent's work, which ends even if it is interrupted.
  const working = yield* Effect.forkChild(Effect.uninterruptible(pushing))
  yield* hangs
  const note = "The branch webhook/1 was not pushed: git push did not end within 1 minute"
  expect(yield* after("1 minute", working)).toEqual(Exit.succeed({ note }))
})

it.live("goes on beside the lock that a killed git has left in the mirror's configuration", function* () {
  const { first, url } = yield* repository
  const folder = yield* temporaryFolder
  const [mirrors, locks] = [join(folder, "mirrors"), join(folder, "locks")]
  mkdirSync(mirrors)
  const fetch = Mirror.commitOf({ mirrors, locks, url, ref: "main", place: {}, who: "run 1", onWait: () => {} })
  const { mirror } = yield* fetch
  writeFileSync(join(mirror, "config.lock"), "")
  expect(yield* fetch).toEqual({ mirror, sha: first })
})

it.live("runs nothing that an agent of the same user has written to the mirror's configuration", function* () {
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

const truncate = (file: string, size = 0) => {
  chmodSync(file, 0o600)
  truncateSync(file, size)
}
const objectOf = (mirror: string, sha: string) => join(mirror, "objects", sha.slice(0, 2), sha.slice(2))

/** What a crash, a full disk or a hand leaves in a mirror. `tip`: the commit of `main`, which `old` is before. */
const damages: Readonly<Record<string, (mirror: string, tip: string, old: string) => void>> = {
  "garbage in packed-refs": (mirror) => writeFileSync(join(mirror, "packed-refs"), "garbage\n"),
  "an empty ref": (mirror) => writeFileSync(join(mirror, "refs/heads/main"), ""),
  "an empty commit": (mirror, tip) => truncate(objectOf(mirror, tip)),
  "an empty commit that is no branch's last": (mirror, _, old) => truncate(objectOf(mirror, old)),
  "a truncated pack": (mirror) => {
    execFileSync("git", ["--git-dir", mirror, "repack", "-qad"])
    const [name = ""] = readdirSync(join(mirror, "objects/pack")).filter((name) => name.endsWith(".pack"))
    truncate(join(mirror, "objects/pack", name), 40)
  },
  "no HEAD": (mirror) => rmSync(join(mirror, "HEAD")),
  "an empty HEAD": (mirror) => writeFileSync(join(mirror, "HEAD"), ""),
  "an empty folder": (mirror) => {
    rmSync(mirror, { recursive: true })
    mkdirSync(mirror)
  },
  "a file in its place": (mirror) => {
    rmSync(mirror, { recursive: true })
    writeFileSync(mirror, "")
  },
  "locks and files of a killed gc": (mirror) => {
    for (const name of ["packed-refs.lock", "HEAD.lock", "refs/heads/main.lock", "gc.pid.lock"]) {
      writeFileSync(join(mirror, name), "")
    }
    writeFileSync(join(mirror, "gc.pid"), "1 elsewhere")
    mkdirSync(join(mirror, "objects/pack"), { recursive: true })
    writeFileSync(join(mirror, "objects/pack/tmp_pack_x"), "")
  }
}

/** A repository with two commits, and what fetches them into a mirror. */
const mirrored = Effect.gen(function* () {
  const { commit, first: old, ...remote } = yield* repository
  const tip = commit("main", { "readme.md": "second\n" })
  const folder = yield* temporaryFolder
  const [mirrors, locks] = [join(folder, "mirrors"), join(folder, "locks")]
  mkdirSync(mirrors)
  const of = (ref: string, who = "run 1") =>
    Mirror.commitOf({ mirrors, locks, url: remote.url, ref, place: {}, who, onWait: () => {} })
  const { mirror } = yield* of("main")
  return { ...remote, commit, old, tip, mirrors, mirror, of }
})

for (const [name, damage] of Object.entries(damages)) {
  it.live(`goes on after ${name}`, function* () {
    const { commit, mirror, mirrors, of, old, tip } = yield* mirrored
    damage(mirror, tip, old)
    expect((yield* of(old)).sha).toBe(old)
    const next = commit("main", { "readme.md": "third\n" })
    const now = yield* of("main")
    // Once, and not for each run.
    expect(now).toEqual({ mirror: now.mirror, sha: next })
    expect((yield* Effect.flip(of("0".repeat(40)))).message).toContain("is not in the repository")
    expect(readdirSync(mirrors).length).toBeLessThan(3)
  })
}

it.live("is cloned anew by the first of two runs, and used by both", function* () {
  const { mirror, mirrors, of, tip } = yield* mirrored
  truncate(objectOf(mirror, tip))
  const found = yield* Effect.all([of("main", "run 1"), of("main", "run 2")], { concurrency: 2 })
  expect(found.map(({ sha }) => sha)).toEqual([tip, tip])
  expect(found.map((one) => one.mirror)).toEqual([`${mirror}.1`, `${mirror}.1`])
  const notes = found.flatMap(({ note }) => note ?? [])
  expect(notes).toEqual([expect.stringMatching(/was damaged \(object file .* is empty\), so it was cloned anew/)])
  expect(readdirSync(mirrors)).toHaveLength(2)
})

it.live("is not cloned anew while the remote is out of reach or refuses", function* () {
  const { folder: remote, mirror, mirrors, of, tip } = yield* mirrored
  renameSync(remote, `${remote}-away`)
  expect((yield* Effect.flip(of("main"))).message).toMatch(/^git fetch failed/)
  // Damaged at the same time: it is kept until there is a new one.
  const ref = join(mirror, "refs/heads/main")
  writeFileSync(ref, "")
  expect((yield* Effect.flip(of("main"))).message).toMatch(
    /^The mirror of the repository is damaged \(.*refs\/heads\/main.*\), and cloning it anew failed: git fetch failed/
  )
  writeFileSync(ref, `${tip}\n`)
  renameSync(`${remote}-away`, remote)
  const programs = yield* folderInPath
  const git = join(programs, "git")
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim()
  const refused = `case " $* " in *" fetch "*) echo "fatal: Authentication failed for '$0'" >&2; exit 128;; esac`
  writeFileSync(git, `#!/bin/sh\n${refused}\nexec ${real} "$@"\n`, { mode: 0o755 })
  expect((yield* Effect.flip(of("main"))).message).toMatch(/^git fetch failed: .*Authentication failed/)
  rmSync(git)
  expect(yield* of("main")).toEqual({ mirror, sha: tip })
  expect(readdirSync(mirrors)).toHaveLength(1)
})
