import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Fiber } from "effect"
import * as Program from "../../cli/Program.ts"
import { freshDatabase, freshVhost } from "../../support/fresh.ts"
import * as InProcess from "../../support/InProcess.ts"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { ADMIN_API_KEY, call } from "./Management.ts"

/** A folder with a program in place of Claude Code, which works on a prompt until it may finish, and then gives this answer. */
const agent = (result: string) =>
  Effect.gen(function* () {
    const folder = yield* Program.newFolder
    mkdirSync(folder)
    const answer = JSON.stringify({ type: "result", is_error: false, result, session_id: "s-1" })
    const script = `#!/bin/sh\ncd '${folder}'\necho begun >> begun\nuntil test -e go; do sleep 0.1; done\necho '${answer}'\n`
    writeFileSync(join(folder, "claude"), script, { mode: 0o755 })
    return {
      PATH: `${folder}:${process.env.PATH}`,
      begins: untilEffect(
        "the agent works",
        Effect.sync(() => existsSync(join(folder, "begun")))
      ),
      finish: Effect.sync(() => writeFileSync(join(folder, "go"), "")),
      times: () => readFileSync(join(folder, "begun"), "utf8").split("\n").length - 1
    }
  })

const allowed = ["--permission-mode", "acceptEdits"]

const ended = (url: string, run_id: string) =>
  untilEffect(
    "the run has ended",
    Effect.map(call(url, "GET", `/api/runs/${run_id}`), (run) => (run.finished_at ? run : false))
  )

const logs = (process: { readonly log: () => string }, text: string) =>
  untilEffect(
    `it logs: ${text}`,
    Effect.sync(() => process.log().includes(text))
  )

/** When the server has looked for the prompt of a run that is out, and offered it to a leader without work. */
const lookedFor = 4_500

/** The words and variables of a leader of the team, by the ways that there are. */
const ways = {
  "through the broker": (_url: string, AMQP_URL: string) => Effect.succeed({ words: ["--team", "ops"], AMQP_URL }),
  "over HTTP": (url: string) =>
    Effect.map(call(url, "POST", "/api/teams/ops/leader-keys", { name: "ops" }), ({ key }) => ({
      words: ["--url", url],
      LEADER_KEY: key as string
    }))
}

const world = (way: keyof typeof ways) =>
  Effect.gen(function* () {
    const AMQP_URL = yield* freshVhost
    const { url } = yield* InProcess.serve({ ADMIN_API_KEY, AMQP_URL })
    yield* call(url, "POST", "/api/teams", { team: "ops" })
    const { words, ...variables } = yield* ways[way](url, AMQP_URL)
    const lead = (PATH: string, ...more: ReadonlyArray<string>) =>
      Effect.tap(
        Program.lead([...words, ...more, "--agent", "claude", "--", ...allowed], { ...variables, PATH }),
        (leader) => logs(leader, "leading the team ops")
      )
    const send = Effect.map(call(url, "POST", "/api/teams/ops/messages", { message: "Hello." }), ({ message_id }) =>
      String(message_id)
    )
    return { lead, send, ended: (run_id: string) => ended(url, run_id) }
  })

for (const way of ["through the broker", "over HTTP"] as const) {
  describe(`a leader ${way} that gets SIGTERM`, () => {
    it.live(
      "finishes the run in hand and takes no other, and nobody repeats it: the standby gets the next",
      function* () {
        const { ended, lead, send } = yield* world(way)
        const [old, next] = [yield* agent("from the old one"), yield* agent("from the next one")]
        const leader = yield* lead(old.PATH)
        const run = yield* send
        yield* old.begins
        yield* next.finish
        yield* lead(next.PATH)
        const stopping = yield* Effect.forkChild(leader.end("SIGTERM"))
        yield* logs(leader, `Stopping: up to 10m for run ${run} of the team ops;`)
        const later = yield* send
        const since = performance.now()
        yield* untilEffect(
          "the server has looked for its prompt, if that is at the broker",
          Effect.sync(() => way === "over HTTP" || performance.now() - since > lookedFor)
        )
        expect(stopping.pollUnsafe()).toBeUndefined()
        yield* old.finish
        expect(yield* ended(run)).toMatchObject({ status: "success", conversation: { response: "from the old one" } })
        expect((yield* Fiber.join(stopping)).code).toBe(0)
        expect(yield* ended(later)).toMatchObject({ conversation: { response: "from the next one" } })
        expect([old.times(), next.times()]).toEqual([1, 1])
      }
    )

    it.live("stops its agent when the time of --drain is over, and the next leader gets the prompt", function* () {
      const { ended, lead, send } = yield* world(way)
      const [old, next] = [yield* agent("from the old one"), yield* agent("from the next one")]
      const leader = yield* lead(old.PATH, "--drain", "0")
      const run = yield* send
      yield* old.begins
      expect((yield* leader.end("SIGTERM")).code).toBe(0)
      yield* next.finish
      yield* lead(next.PATH)
      expect(yield* ended(run)).toMatchObject({ status: "success", conversation: { response: "from the next one" } })
    })
  })
}

it.live("Ctrl-C gives a leader 10 s at most, and says so; a second one ends it at once", function* () {
  const { lead, send } = yield* world("through the broker")
  const claude = yield* agent("never")
  const leader = yield* lead(claude.PATH, "--drain", "1 hour")
  const run = yield* send
  yield* claude.begins
  const stopping = yield* Effect.forkChild(leader.end("SIGINT"))
  yield* logs(leader, `Stopping: up to 10s for run ${run} of the team ops;`)
  // More than a second later, as one within it counts as the first.
  const since = performance.now()
  yield* untilEffect(
    "it is a second signal",
    Effect.sync(() => performance.now() - since > 1_500)
  )
  expect((yield* leader.end("SIGINT")).code).toBeNull()
  yield* Fiber.join(stopping)
})

it.live("a server lets the agents that it leads itself finish, and stores their answers", function* () {
  const claude = yield* agent("done")
  const [DATABASE_URL, AGENTS_DIR] = [yield* freshDatabase, yield* Program.newFolder]
  const variables = {
    DATABASE_URL,
    ADMIN_API_KEY,
    AGENTS_DIR,
    PATH: claude.PATH,
    AGENTS: `ops=claude ${allowed.join(" ")}`
  }
  const server = yield* Program.serve(variables)
  const send = call(server.url, "POST", "/api/teams/ops/messages", { message: "Hello." })
  const { message_id } = yield* send
  yield* claude.begins
  const { message_id: later } = yield* send
  const stopping = yield* Effect.forkChild(server.end("SIGTERM"))
  yield* logs(server, `Stopping: up to 10m for run ${message_id} of the team ops;`)
  yield* claude.finish
  expect((yield* Fiber.join(stopping)).code).toBe(0)
  expect(claude.times()).toBe(1)
  const { url } = yield* InProcess.serve({ DATABASE_URL, ADMIN_API_KEY })
  expect(yield* ended(url, message_id)).toMatchObject({ status: "success", conversation: { response: "done" } })
  // Nobody has worked on it.
  expect(yield* call(url, "GET", `/api/runs/${later}`)).not.toHaveProperty("started_at")
})
