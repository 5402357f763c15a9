import { type ChildProcess, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { Effect, Queue, Redacted, References } from "effect"
import * as BusAmqp from "../../src/bus/amqp/BusAmqp.ts"
import { Bus } from "../../src/bus/Bus.ts"
import { collectReplies, makePrompt, team, untilQueue } from "../bus/contract/support.ts"
import { freshVhost } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { refusedLeader } from "./CommandLine.ts"
import * as Program from "./Program.ts"

/**
 * What a program finds that looks for its leader's keys: its own environment, the environments and command lines of all
 * processes above it, and the leader's open files. Not its pipes: who takes the byte out of libuv's lock freezes the leader.
 */
const spy = `
const { readFileSync, readdirSync, readlinkSync, statSync } = require("node:fs")
const found = [JSON.stringify(process.env)]
const attempt = (read) => { try { found.push(String(read())) } catch (error) { found.push(String(error)) } }
for (let pid = process.ppid; pid > 0; pid = Number(/^PPid:\\s*(\\d+)/m.exec(readFileSync("/proc/" + pid + "/status"))[1])) {
  for (const file of ["environ", "cmdline"]) attempt(() => readFileSync("/proc/" + pid + "/" + file))
}
attempt(() => {
  for (const descriptor of readdirSync("/proc/" + process.ppid + "/fd")) {
    const path = "/proc/" + process.ppid + "/fd/" + descriptor
    attempt(() => readlinkSync(path))
    attempt(() => statSync(path).isFile() && readFileSync(path))
  }
})
console.log(found.join("\\n"))
`

/** Has Node's debugger started in the leader, where it would tell everything, and looks whether it listens. */
const debug = `
process.kill(process.ppid, "SIGUSR1")
require("node:net").connect(9229, "127.0.0.1")
  .on("connect", () => { console.log("connected"); process.exit() })
  .on("error", (error) => console.log(error.code))
`

interface Leader {
  readonly child: ChildProcess
  log: string
}

/** Starts the command line `words` with this environment, until the scope closes. */
const start = (words: ReadonlyArray<string>, variables: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const [command, ...args] = words
      const env = { PATH: process.env.PATH, CONTROL: "visible", ...variables }
      const child = spawn(command!, args, { env, stdio: ["ignore", "ignore", "pipe"], detached: true })
      const leader: Leader = { child, log: "" }
      child.stderr.on("data", (chunk) => (leader.log += chunk))
      return leader
    }),
    ({ child }) =>
      Effect.callback<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        process.kill(-child.pid!, "SIGKILL")
      })
  )

/** The words that start a leader of the program. */
const leaderOf = (options: ReadonlyArray<string>, program: ReadonlyArray<string>) => [
  process.execPath,
  Program.program,
  "leader",
  "--team",
  team,
  ...options,
  "--",
  ...program
]

/** What the leader's program answers to the prompts, one after the other. */
const answers = (leader: Leader, ...prompts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const replies = yield* collectReplies
    yield* untilQueue(({ consumers }) => consumers === 1)
    return yield* Effect.forEach(prompts, (text) =>
      Effect.gen(function* () {
        const prompt = yield* makePrompt({ prompt: text })
        yield* bus.publish(prompt)
        // Replies to earlier prompts may come again: a process that stands still loses its connection.
        const end = yield* Effect.repeat(Queue.take(replies), {
          until: ({ _tag, run_id }) => _tag !== "Started" && run_id === prompt.run_id
        })
        if (end._tag !== "Answered") throw new Error(`${JSON.stringify(end)}\n${leader.log}`)
        return end.response
      })
    )
  }).pipe(Effect.scoped)

const withBroker = <A, E>(
  test: (broker: { readonly url: string; readonly secret: string }) => Effect.Effect<A, E, Bus>
) =>
  Effect.gen(function* () {
    const url = yield* freshVhost
    // The name of the virtual host is found nowhere else.
    const secret = new URL(url).pathname.slice(1)
    return yield* Effect.provide(
      test({ url, secret }),
      BusAmqp.layer({ url: Redacted.make(url), queueType: "classic" })
    )
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))

describe("a leader's program that looks for the broker's address", () => {
  const ways: Readonly<
    Record<string, (url: string, file: string) => { options: ReadonlyArray<string>; variables: Record<string, string> }>
  > = {
    AMQP_URL: (url) => ({ options: [], variables: { AMQP_URL: url, ADMIN_API_KEY: `key of ${url}` } }),
    "--amqp-url": (url) => ({ options: ["--amqp-url", url], variables: {} }),
    "--amqp-url=": (url) => ({ options: [`--amqp-url=${url}`], variables: {} }),
    "--amqp-url-file": (_, file) => ({ options: ["--amqp-url-file", file], variables: {} })
  }
  for (const [way, given] of Object.entries(ways)) {
    it.live(`does not find it above itself when it was given with ${way}`, () =>
      withBroker(({ secret, url }) =>
        Effect.gen(function* () {
          const file = yield* Program.newFolder
          writeFileSync(file, `${url}\n`)
          const { options, variables } = given(url, file)
          const leader = yield* start(leaderOf(options, [process.execPath, "-"]), variables)
          const [found] = yield* answers(leader, spy)
          // It was able to read the leader's environment and command line.
          expect(found).toContain("CONTROL=visible")
          expect(found).toContain(Program.program)
          expect(found).not.toContain(secret)
          expect(found).not.toContain(`${file}\n`)
          expect(leader.log).not.toContain("can read")
        }).pipe(Effect.scoped)
      )
    )
  }

  it.live("does not find it with Node's debugger", () =>
    withBroker(({ url }) =>
      Effect.gen(function* () {
        const leader = yield* start(leaderOf([], [process.execPath, "-"]), { AMQP_URL: url })
        expect(yield* answers(leader, debug, debug)).toEqual(["ECONNREFUSED", "ECONNREFUSED"])
        expect(leader.log).not.toContain("Debugger")
      }).pipe(Effect.scoped)
    )
  )

  it.live("finds it in a wrapper that has started the leader, of which the leader warns", () =>
    withBroker(({ secret, url }) =>
      Effect.gen(function* () {
        const words = leaderOf([], [process.execPath, "-"])
        const leader = yield* start(["/bin/sh", "-c", '"$@"; true', "wrapper", ...words], { AMQP_URL: url })
        const [found] = yield* answers(leader, spy)
        expect(found).toContain(secret)
        expect(leader.log).toContain(`from sh (process ${leader.child.pid})`)
        expect(leader.log).not.toContain(new URL(url).password)
      }).pipe(Effect.scoped)
    )
  )

  it.live("runs as another user with --user, who can read neither the leader nor a wrapper", () =>
    withBroker(({ secret, url }) =>
      Effect.gen(function* () {
        const [user, group] = ["nobody", "65534"]
        const program = leaderOf(["--user", `${user}:${group}`], ["/bin/sh", "-s"])
        if (process.geteuid!() !== 0) {
          const ended = yield* Program.run(program.slice(2), { AMQP_URL: url })
          expect(ended).toMatchObject({ code: 2, stdout: "" })
          expect(ended.stderr).toContain("started as root")
          return
        }
        const leader = yield* start(["/bin/sh", "-c", '"$@"; true', "wrapper", ...program], { AMQP_URL: url })
        const [identity, denied, found] = yield* answers(
          leader,
          'id -un; id -G; echo "$USER $HOME"',
          "cat /proc/$PPID/environ /proc/$PPID/fd/* 2>&1 || true",
          `${process.execPath} - <<'SPY'\n${spy}\nSPY`
        )
        expect(identity).toMatch(/^nobody\n65534\nnobody \//)
        expect(denied).toContain("Permission denied")
        expect(found).toContain("EACCES")
        expect(found).not.toContain(secret)
        expect(leader.log).not.toContain("can read")
      }).pipe(Effect.scoped)
    )
  )

  it.live("is not started with a user, a group or a file that does not exist", function* () {
    for (const [options, says] of [
      [["--user", "no-such-user"], "no such user"],
      [["--user", "root:no-such-group"], "no such group"],
      [["--user", "a:b:c"], "user:group"],
      [["--amqp-url-file", "/no/such/file"], "/no/such/file cannot be read"],
      [["--amqp-url-file", "/etc/hostname", "--amqp-url", "amqp://127.0.0.1:9"], "not both"]
    ] as const) {
      const words = ["--team", "a", ...options, "--", "true"]
      const ended = yield* refusedLeader({ AMQP_URL: "amqp://127.0.0.1:9" }, ...words)
      expect({ code: ended.code, stdout: ended.stdout }, options.join(" ")).toEqual({ code: 2, stdout: "" })
      expect(ended.stderr).toContain(says)
    }
  })
})
