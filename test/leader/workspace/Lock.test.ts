import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Lock from "../../../src/leader/workspace/Lock.ts"
import * as Workspace from "../../../src/leader/workspace/Workspace.ts"
import { bornAt } from "../../../src/runtime/Processes.ts"
import { team } from "../../bus/contract/support.ts"
import { expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"
import { copiesOf, repository } from "./Repositories.ts"

const quietly = { onWait: () => {} }
const holderIn = (folder: string) => JSON.parse(readFileSync(join(folder, "lock"), "utf8"))

/** A process that has ended, of this boot. */
const dead = { pid: 2 ** 22, born: bornAt(process.pid).replace(/\d+$/, "1") }

it.live("the lock of a crashed process is taken at once, after the end of what it has left at work", function* () {
  const folder = yield* temporaryFolder
  const left = spawn("sleep", ["600"], { detached: true, stdio: "ignore" })
  yield* Effect.addFinalizer(() => Effect.sync(() => left.kill("SIGKILL")))
  yield* Effect.scoped(Lock.hold(folder, "the first", quietly)).pipe(
    Effect.andThen(Effect.sync(() => expect(readdirSync(folder)).toEqual([])))
  )
  yield* Effect.scoped(
    Effect.gen(function* () {
      yield* Lock.hold(folder, "the first", quietly)
      const holder = holderIn(folder)
      mkdirSync(join(folder, "programs"))
      writeFileSync(join(folder, "programs", `${left.pid}`), JSON.stringify({ born: bornAt(left.pid!), server: dead }))
      writeFileSync(join(folder, "lock"), JSON.stringify({ ...holder, ...dead, token: "theirs" }))
    })
  )
  expect(Lock.isLeft(folder)).toBe(true)
  yield* Lock.hold(folder, "the second", quietly)
  expect(bornAt(left.pid!)).toBe("")
  expect(holderIn(folder)).toMatchObject({ who: "the second", pid: process.pid })
  expect(Lock.isLeft(folder)).toBe(false)
  expect(Option.isNone(yield* Lock.tryHold(folder, "the third"))).toBe(true)
  expect(readdirSync(folder).sort()).toEqual(["lock", "programs"])
})

it.effect(
  "the lock of a process elsewhere is taken when its heartbeat has stopped for a minute, and not before",
  function* () {
    const folder = yield* temporaryFolder
    const file = join(folder, "lock")
    writeFileSync(file, JSON.stringify({ system: "another machine", ...dead, token: "theirs", who: "run 1" }))
    const waits: Array<string> = []
    const waiting = yield* Effect.forkScoped(Lock.hold(folder, "mine", { onWait: (holder) => waits.push(holder) }))
    for (const beat of [1, 2, 3]) {
      yield* TestClock.adjust("50 seconds")
      expect(holderIn(folder).token).toBe("theirs")
      utimesSync(file, beat, beat)
    }
    yield* TestClock.adjust("70 seconds")
    yield* Fiber.join(waiting)
    expect(holderIn(folder).who).toBe("mine")
    expect(waits).toEqual(["run 1"])
  }
)

it.effect(
  "the folder of a run before the machine's last boot is removed when its lock is unchanged an hour later",
  function* () {
    const { url } = yield* repository
    const workspaces = yield* temporaryFolder
    const [locks, folders] = [join(workspaces, "locks/folders", team), join(workspaces, "folders", team)]
    for (const id of ["crashed", "working"]) {
      mkdirSync(join(locks, id), { recursive: true })
      mkdirSync(join(folders, id), { recursive: true })
      writeFileSync(join(locks, id, "lock"), JSON.stringify({ system: "another boot", ...dead, token: id }))
    }
    yield* Workspace.make({ team, workspace: copiesOf(url), workspaces })
    yield* TestClock.adjust("59 minutes")
    expect(readdirSync(folders)).toEqual(["crashed", "working"])
    yield* untilEffect(
      // At an end before that, the removing program would be waited for, on a clock that stands still.
      "the folder is removed, and after it its lock",
      Effect.sync(() => utimesSync(join(locks, "working/lock"), new Date(), new Date())).pipe(
        Effect.andThen(TestClock.adjust("1 minute")),
        Effect.map(() => !existsSync(join(locks, "crashed")))
      )
    )
    expect(readdirSync(folders)).toEqual(["working"])
  }
)

it.effect("work stops when another process has taken its lock, and leaves that alone", function* () {
  const folder = yield* temporaryFolder
  const stopped = yield* Deferred.make<void>()
  const work = Effect.scoped(
    Effect.flatMap(Lock.hold(folder, "mine", quietly), (held) =>
      Lock.during(
        held,
        Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
      )
    )
  )
  const working = yield* Effect.forkChild(work)
  yield* untilEffect(
    "it is held",
    Effect.sync(() => existsSync(join(folder, "lock")))
  )
  writeFileSync(join(folder, "lock"), JSON.stringify({ token: "theirs", who: "run 2" }))
  const ended = yield* untilEffect(
    "the work has ended",
    Effect.andThen(
      TestClock.adjust("5 seconds"),
      Effect.sync(() => working.pollUnsafe())
    )
  )
  expect(ended).toEqual(Exit.fail(expect.objectContaining({ message: "The folder was taken by run 2" })))
  expect(yield* Deferred.isDone(stopped)).toBe(true)
  expect(holderIn(folder).token).toBe("theirs")
})
