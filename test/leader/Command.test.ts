import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Queue, References, Schedule, type Scope } from "effect"
import { Bus, type LeaderBus, type Prompt, type Reply } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { Command } from "../../src/leader/index.ts"
import * as Environment from "../../src/server/environment/Environment.ts"
import * as LeaderEnvironment from "../../src/server/environment/LeaderEnvironment.ts"
import { secretsOf } from "../../src/server/environment/LoadSettings.ts"
import { collectReplies, makePrompt, team, untilQueue } from "../bus/contract/support.ts"
import { temporaryFolder } from "../support/private.ts"

const behaviour = (name: string, test: Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>) =>
  it.live(name, () =>
    Effect.scoped(test).pipe(Effect.provide(BusMemory.layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )

/** A leader of this program; the returned function sends it a prompt and waits for the end of the run. */
const leader = (options: Partial<Command.CommandOptions> & Pick<Command.CommandOptions, "command" | "args">) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const replies = yield* collectReplies
    const running = yield* Effect.forkScoped(Command.run({ team, ...options }))
    yield* untilQueue(({ consumers }) => consumers === 1)
    const send = (prompt: string, fields: Partial<Prompt> = {}) =>
      Effect.gen(function* () {
        yield* bus.publish(yield* makePrompt({ prompt, ...fields }))
        let reply: Reply
        do reply = yield* Queue.take(replies)
        while (reply._tag === "Started")
        return reply
      })
    return { send, running, replies }
  })

const shell = (script: string): Pick<Command.CommandOptions, "command" | "args"> => ({
  command: "sh",
  args: ["-c", script]
})

const isAlive = (pid: number): boolean => {
  try {
    // A process that has ended and was not collected by its parent is a zombie.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

/** The process id that a program writes to the file, once it has. */
const pidIn = (file: string) =>
  Effect.try(() => Number(readFileSync(file, "utf8").trim())).pipe(
    Effect.filterOrFail((pid) => pid > 0),
    Effect.retry({ schedule: Schedule.spaced("10 millis"), times: 6_000 })
  )

const untilDead = (pid: number) =>
  Effect.sync(() => isAlive(pid)).pipe(
    Effect.filterOrFail((alive) => !alive),
    Effect.retry({ schedule: Schedule.spaced("10 millis"), times: 6_000 })
  )

describe("the leader command", () => {
  behaviour(
    "runs in its folder, which PWD names as well",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { send } = yield* leader({ command: "printenv", args: ["PWD"], folder })
      expect(yield* send("hello")).toMatchObject({ response: folder })
    })
  )

  behaviour(
    "jq answers from the JSON in the prompt, and its error output is the run's error",
    Effect.gen(function* () {
      const { send } = yield* leader({ command: "jq", args: ["-c", ".items | length"] })
      expect(yield* send('{"items":[1,2,3]}')).toMatchObject({ _tag: "Answered", response: "3" })
      const failed = yield* send("this is not JSON")
      expect(failed._tag).toBe("Failed")
      expect(failed._tag === "Failed" && failed.message).toMatch(/^exit code \d: .*parse error/s)
    })
  )

  behaviour(
    "a shell script that runs git log answers with the commit",
    Effect.gen(function* () {
      const { send } = yield* leader(shell('git log -1 --format=%H "$(cat)"'))
      expect(yield* send("HEAD")).toMatchObject({
        _tag: "Answered",
        response: expect.stringMatching(/^[0-9a-f]{40}$/)
      })
      expect(yield* send("no-such-branch")).toMatchObject({
        _tag: "Failed",
        message: expect.stringMatching(/^exit code 128: .*no-such-branch/)
      })
    })
  )

  behaviour(
    "a program that fails silently and does not read its prompt fails with its exit code",
    Effect.gen(function* () {
      const { send } = yield* leader({ command: "false", args: [] })
      expect(yield* send("x".repeat(1024 * 1024))).toMatchObject({ _tag: "Failed", message: "exit code 1" })
    })
  )

  behaviour(
    "a program that does not read its prompt may answer nevertheless",
    Effect.gen(function* () {
      const { send } = yield* leader({ command: "echo", args: ["done"] })
      expect(yield* send("x".repeat(1024 * 1024))).toMatchObject({ _tag: "Answered", response: "done" })
    })
  )

  behaviour(
    "prompt and answer pass through unchanged, but for one newline at the end",
    Effect.gen(function* () {
      const { send } = yield* leader({ command: "cat", args: [] })
      const text = `日本語 🦊 $HOME \`id\` "quoted" \\ ${"x".repeat(200_000)}`
      expect(yield* send(text)).toMatchObject({ response: text })
      expect(yield* send("two\n\n")).toMatchObject({ response: "two\n" })
      expect(yield* send("dos\r\n")).toMatchObject({ response: "dos" })
      expect(yield* send("")).toMatchObject({ response: "" })
    })
  )

  behaviour(
    "the program finds the run and its thread in its environment, and none of the keys that are set there",
    Effect.gen(function* () {
      const secrets = [...secretsOf(Environment.settings), "WEBHOOK_TOKEN"]
      for (const name of secrets) process.env[name] = "secret"
      // As the `leader` command does.
      const { send } = yield* leader({ ...shell("env"), withheld: secretsOf(LeaderEnvironment.settings) })
      const id = (yield* makePrompt()).run_id
      const run = {
        run_id: id,
        source: "webhook",
        webhook: { id: id as never, name: "nightly build" },
        thread: { id: id as never, session_id: "s-1" }
      } as const
      const answer = yield* send("", run)
      for (const name of secrets) delete process.env[name]
      const lines = answer._tag === "Answered" ? answer.response.split("\n") : []
      expect(lines).toEqual(
        expect.arrayContaining([
          `WEBHOOK_RUN_ID=${id}`,
          "WEBHOOK_TEAM=deploy",
          "WEBHOOK_SOURCE=webhook",
          `WEBHOOK_ID=${id}`,
          "WEBHOOK_NAME=nightly build",
          `WEBHOOK_THREAD_ID=${id}`,
          "WEBHOOK_SESSION_ID=s-1",
          `PATH=${process.env.PATH}`
        ])
      )
      expect(lines.join()).not.toContain("secret")
    })
  )

  behaviour(
    "only the end of a long error output is kept",
    Effect.gen(function* () {
      const { send } = yield* leader(shell("seq 1 100000 >&2; echo the end >&2; exit 3"))
      const failed = yield* send("")
      const message = failed._tag === "Failed" ? failed.message : ""
      expect(message).toMatch(/^exit code 3: /)
      expect(message.endsWith("99999\n100000\nthe end")).toBe(true)
      expect(message.length).toBeLessThan(4200)
    })
  )

  behaviour(
    "an answer over 1 MiB is sent as its first 64 KiB, without waiting for the program's end",
    Effect.gen(function* () {
      const { send } = yield* leader({ command: "yes", args: [] })
      expect(yield* send("")).toMatchObject({ _tag: "Answered", response: "y\n".repeat(32 * 1024), truncated: true })
    })
  )

  behaviour(
    "an answer of 1 MiB may end with a newline more",
    Effect.gen(function* () {
      const { send } = yield* leader(shell("head -c \"$(cat)\" /dev/zero | tr '\\0' x; echo"))
      const whole = yield* send("1048576")
      expect(whole).toMatchObject({ _tag: "Answered", response: "x".repeat(1_048_576) })
      expect(whole).not.toHaveProperty("truncated")
      expect(yield* send("1048577")).toMatchObject({ response: "x".repeat(65_536), truncated: true })
    })
  )

  behaviour(
    "a program that takes too long is ended with everything that it started, even what ignores SIGTERM",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const script = `sh -c 'trap "" TERM; echo $$ > ${folder}/grandchild; while :; do sleep 1; done' & wait`
      const { send } = yield* leader({ ...shell(script), timeout: "300 millis" })
      // On a busy machine it may take longer than that to start.
      while (!existsSync(`${folder}/grandchild`)) {
        expect(yield* send("")).toMatchObject({ _tag: "Failed", message: "sh did not finish within 300ms" })
      }
      yield* untilDead(yield* pidIn(`${folder}/grandchild`))
    })
  )

  behaviour(
    "a process that a program leaves running does not hold up its answer, and is ended",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { send } = yield* leader(shell(`sleep 600 & echo $! > ${folder}/left; echo done`))
      expect(yield* send("")).toMatchObject({ _tag: "Answered", response: "done" })
      yield* untilDead(yield* pidIn(`${folder}/left`))
    })
  )

  behaviour(
    "a program that is killed fails its run with the signal",
    Effect.gen(function* () {
      const { send } = yield* leader(shell("kill -9 $$"))
      expect(yield* send("")).toMatchObject({ _tag: "Failed", message: "ended by SIGKILL" })
    })
  )

  behaviour(
    "a leader that is stopped lets its program finish within the grace, and sends the answer",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const script = `echo $$ > ${folder}/pid; while ! [ -e ${folder}/go ]; do sleep 0.05; done; echo finished`
      const { running, replies } = yield* leader({ ...shell(script), grace: "1 minute" })
      const bus = yield* Bus
      yield* bus.publish(yield* makePrompt())
      yield* pidIn(`${folder}/pid`)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(running))
      yield* Effect.yieldNow
      writeFileSync(`${folder}/go`, "")
      yield* Fiber.join(stopping)
      expect((yield* Queue.take(replies))._tag).toBe("Started")
      expect(yield* Queue.take(replies)).toMatchObject({ _tag: "Answered", response: "finished" })
    })
  )

  behaviour(
    "after the grace its program is ended and the prompt waits for the next leader",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { running } = yield* leader({
        ...shell(`echo $$ > ${folder}/pid; sleep 600; echo never`),
        grace: "100 millis"
      })
      const bus = yield* Bus
      yield* bus.publish(yield* makePrompt())
      const pid = yield* pidIn(`${folder}/pid`)
      yield* Fiber.interrupt(running)
      expect(isAlive(pid)).toBe(false)
      expect(yield* bus.queue(team)).toEqual({ exists: true, consumers: 0, messages: 1 })
    })
  )

  behaviour(
    "a program that does not exist, or cannot be run, is refused immediately",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeFileSync(`${folder}/notes`, "not a program", { mode: 0o644 })
      for (const command of ["no-such-program", `${folder}/missing`, `${folder}/notes`, folder]) {
        const error = yield* Effect.flip(Command.run({ team, command, args: [] }))
        expect(error._tag).toBe("ProgramMissing")
        expect(error.message).toContain(command)
      }
    })
  )

  behaviour(
    "a program that disappears later fails its runs with a clear message",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const command = join(folder, "agent")
      writeFileSync(command, "#!/bin/sh\ncat\n", { mode: 0o755 })
      const { send } = yield* leader({ command, args: [] })
      expect(yield* send("hello")).toMatchObject({ response: "hello" })
      rmSync(command)
      expect(yield* send("hello")).toMatchObject({ _tag: "Failed", message: `program not found: ${command}` })
    })
  )
})
