import { execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Tools, withTools } from "../../../src/leader/agents/AgentTools.ts"
import { LeaderError } from "../../../src/leader/index.ts"
import { makePrompt } from "../../bus/contract/support.ts"
import { expect, it } from "../../support/It.ts"

const task = Effect.map(makePrompt({}), (prompt) => ({ prompt, place: {}, progress: () => {}, report: () => {} }))

it.effect("an agent that goes on after its question is stopped a minute later, and has asked", function* () {
  const [working, stopped] = [yield* Deferred.make<Tools>(), yield* Deferred.make<void>()]
  const goOn = Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
  const fiber = yield* Effect.forkChild(
    withTools(yield* task, (tools) => Effect.andThen(Deferred.succeed(working, tools!), goOn))
  )
  const { ask, script } = yield* Deferred.await(working)
  yield* TestClock.adjust("1 hour")
  ask("Which branch?", ["main"])
  yield* TestClock.adjust("59 seconds")
  expect(fiber.pollUnsafe()).toBeUndefined()
  yield* TestClock.adjust("1 second")
  expect(yield* Fiber.join(fiber)).toEqual({ response: "Which branch?", report: { asks: ["main"] } })
  expect(yield* Deferred.isDone(stopped)).toBe(true)
  expect(existsSync(dirname(script))).toBe(false)
})

it.effect("an agent that fails without a question has failed", function* () {
  const failing = withTools(yield* task, () => new LeaderError({ message: "no such model" }))
  expect(yield* Effect.flip(failing)).toMatchObject({ message: "no such model" })
})

it.effect("only the program's user can connect to the socket, and only the leader can change its folder", function* () {
  const user = { name: "agent", home: "/", uid: process.getuid!(), gid: process.getgid!() }
  const modesOf = ({ script }: Tools) =>
    [dirname(script), join(dirname(script), "socket")].map((path) => (statSync(path).mode & 0o777).toString(8))
  const modes = (place: object) =>
    Effect.flatMap(task, (task) => withTools({ ...task, place }, (tools) => Effect.succeed(modesOf(tools!).join())))
  expect(yield* modes({ user })).toBe("711,600")
  expect(yield* modes({})).toMatch(/^700,/)
})

it.effect("folders of leaders that were killed are removed, and no others", () =>
  Effect.gen(function* () {
    const folderWith = (lock: object, owner = process.getuid!()) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const folder = mkdtempSync(join(tmpdir(), "webhook-tools-"))
          writeFileSync(join(folder, "lock"), JSON.stringify(lock))
          chownSync(folder, owner, process.getgid!())
          return folder
        }),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
    const use = Effect.flatMap(task, (task) =>
      withTools(task, (tools) => Effect.sync(() => readFileSync(join(dirname(tools!.script), "lock"), "utf8")))
    )
    const mine = JSON.parse((yield* use) as string)
    const killed = yield* folderWith({ ...mine, born: "earlier" })
    const others = yield* Effect.all([
      folderWith(mine),
      folderWith({ ...mine, born: "earlier", system: "another container" }),
      folderWith({}),
      ...(process.getuid!() === 0 ? [folderWith({ ...mine, born: "earlier" }, 65_534)] : [])
    ])
    yield* use
    expect(existsSync(killed)).toBe(false)
    expect(others.filter((folder) => !existsSync(folder))).toEqual([])
  }).pipe(Effect.scoped)
)

it.effect.skipIf(process.getuid!() !== 0)(
  "nothing in another user's folder is read: a pipe would hold up the leader",
  () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "webhook-tools-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
      const pipe = join(folder, "lock")
      execFileSync("mkfifo", [pipe])
      chownSync(folder, 65_534, process.getgid!())
      // It ends by itself when somebody reads.
      const writer = spawn("sh", ["-c", ': > "$1"', "sh", pipe])
      const code = new Promise((resolve) => writer.on("exit", resolve))
      yield* withTools(yield* task, () => Effect.succeed("done"))
      writer.kill()
      expect(yield* Effect.promise(() => code)).toBeNull()
    }).pipe(Effect.scoped)
)

/** Calls the tools as a program does, and returns whether each call failed. */
const callTools = (tools: Tools, calls: ReadonlyArray<readonly [name: string, args: object]>) =>
  Effect.promise(
    () =>
      new Promise<ReadonlyArray<boolean>>((resolve, reject) => {
        const socket = connect(join(dirname(tools.script), "socket"))
        const send = (message: object) => socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
        const failed: Array<boolean> = []
        createInterface(socket).on("line", (line) => {
          const { id, result } = JSON.parse(line)
          if (id === "init") {
            send({ method: "notifications/initialized" })
            for (const [id, [name, args]] of calls.entries())
              send({ id, method: "tools/call", params: { name, arguments: args } })
          } else failed[id] = result.isError === true
          if (Object.keys(failed).length < calls.length) return
          socket.end()
          resolve(failed)
        })
        socket.on("error", reject)
        const clientInfo = { name: "test", version: "1" }
        send({
          id: "init",
          method: "initialize",
          params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }
        })
      })
  )

it.live("of a flood of progress the newest is shown, and there is an end to questions and links", function* () {
  const shown: Array<string | undefined> = []
  const given = { ...(yield* task), progress: ({ activity }: { activity?: string }) => void shown.push(activity) }
  const calls = [
    ...Array.from({ length: 300 }, (_, n) => ["progress", { text: `step ${n}` }] as const),
    ...Array.from({ length: 12 }, (_, n) => ["ask", { question: `question ${n}?` }] as const),
    ...Array.from({ length: 30 }, (_, n) => ["link", { url: `https://example.com/${n}` }] as const)
  ]
  let failed: ReadonlyArray<boolean> = []
  const answer = yield* withTools(given, (tools) =>
    Effect.map(callTools(tools!, calls), (found) => {
      failed = found
      return { response: "done" }
    })
  )
  expect(failed.slice(0, 310)).toEqual(Array.from({ length: 310 }, () => false))
  expect(failed.slice(310, 312)).toEqual([true, true])
  expect(failed.slice(312).filter((it) => it).length).toBeGreaterThan(0)
  expect(shown[0]).toBe("step 0")
  expect(shown.at(-1)).toBe("step 299")
  expect(shown.length).toBeLessThan(150)
  const response = Array.from({ length: 10 }, (_, n) => `question ${n}?`).join("\n\n")
  expect(answer).toMatchObject({ response })
})
