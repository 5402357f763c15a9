import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Fiber } from "effect"
import { newFolder, serve } from "../../cli/Program.ts"
import { recorded } from "../../leader/agents/Programs.ts"
import { freshDatabase } from "../../support/fresh.ts"
import * as InProcess from "../../support/InProcess.ts"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { ADMIN_API_KEY, call } from "./Management.ts"

describe("a server that leads teams itself", () => {
  it.live("ends the programs that a crashed server has left at work before others begin", function* () {
    const [DATA_DIR, folder] = [yield* newFolder, yield* newFolder]
    mkdirSync(folder, { recursive: true })
    // The second time, the program says which processes of the first are there; those that nobody waited for are not.
    const script = `cd '${folder}'
        if test -e pids; then
          for pid in $(cat pids); do test -e /proc/$pid && ! grep -q ') Z' /proc/$pid/stat && echo "$pid is there"; done
          echo alone
        else
          sleep 600 & echo $$ $! > pids.new; mv pids.new pids; wait
        fi`
    writeFileSync(join(folder, "agent.sh"), script)
    const LEADERS = `ops=sh ${join(folder, "agent.sh")}`
    const server = yield* serve({ DATA_DIR, ADMIN_API_KEY, LEADERS })
    const { message_id } = yield* call(server.url, "POST", "/api/teams/ops/messages", { message: "Hello." })
    yield* untilEffect(
      "the program works",
      Effect.sync(() => existsSync(join(folder, "pids")))
    )
    yield* server.end("SIGKILL")
    const again = yield* serve({ DATA_DIR, ADMIN_API_KEY, LEADERS })
    const ended = yield* untilEffect(
      "the run has ended",
      Effect.map(call(again.url, "GET", `/api/runs/${message_id}`), (run) => (run.finished_at ? run : false))
    )
    expect(ended.conversation).toMatchObject({ response: "alone" })
  })

  it.live("asks the question of an agent again whose server crashed after it had asked", function* () {
    const [DATA_DIR, folder] = [yield* newFolder, yield* newFolder]
    mkdirSync(folder, { recursive: true })
    const program = fileURLToPath(new URL("../../leader/agents/tools-agent.mjs", import.meta.url))
    const run = (printed: string) => `PRINTED='${printed}' '${process.execPath}' '${program}' codex "$@"`
    const script = `#!/bin/sh\ncd '${folder}'\nif test -e asked; then ${run(recorded("codex", "answer"))}
        else ${run("/dev/null")}; mv results asked; sleep 600; fi`
    writeFileSync(join(folder, "codex"), script, { mode: 0o755 })
    const settings = { DATA_DIR, ADMIN_API_KEY, AGENTS: "review=codex", PATH: `${folder}:${process.env.PATH}` }
    const server = yield* serve(settings)
    const message = JSON.stringify([["ask", { question: "Which branch?", suggestions: ["main"] }]])
    const { message_id } = yield* call(server.url, "POST", "/api/teams/review/messages", { message })
    yield* untilEffect(
      "the agent has asked",
      Effect.sync(() => existsSync(join(folder, "asked")))
    )
    yield* server.end("SIGKILL")
    const again = yield* serve(settings)
    const ended = yield* untilEffect(
      "the run has ended",
      Effect.map(call(again.url, "GET", `/api/runs/${message_id}`), (run) => (run.finished_at ? run : false))
    )
    expect(ended).toMatchObject({ status: "success", conversation: { response: "Which branch?" }, asks: ["main"] })
    expect((yield* call(again.url, "GET", "/api/runs?asks=true")).data).toHaveLength(1)
  })

  it.live("says which run a stop waits for, and ends its program at once at a second signal", function* () {
    const folder = yield* newFolder
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "agent.sh"), `cd '${folder}'; trap '' TERM; echo $$ > new; mv new pid; sleep 600`)
    const LEADERS = `ops=sh ${join(folder, "agent.sh")}`
    const server = yield* serve({ DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY, LEADERS, WEBHOOK_TIMOUT: "30" })
    expect(server.log()).toContain("WEBHOOK_TIMOUT is not a setting; did you mean WEBHOOK_TIMEOUT?")
    expect(server.log().match(/did you mean/g)).toHaveLength(1)
    const { message_id } = yield* call(server.url, "POST", "/api/teams/ops/messages", { message: "Hello." })
    yield* untilEffect(
      "the program works",
      Effect.sync(() => existsSync(join(folder, "pid")))
    )
    const ending = yield* Effect.forkChild(server.end("SIGINT"))
    yield* untilEffect(
      "the server says what it waits for",
      Effect.sync(() => server.log().includes(`run ${message_id} of the team ops`))
    )
    yield* untilEffect(
      "a later signal has ended the server",
      Effect.sync(() => ending.pollUnsafe() !== undefined || void server.signal("SIGINT"))
    )
    expect((yield* Fiber.join(ending)).code).toBeNull()
    const stat = `/proc/${readFileSync(join(folder, "pid"), "utf8").trim()}/stat`
    yield* untilEffect(
      "the program has ended",
      Effect.sync(() => !existsSync(stat) || readFileSync(stat, "utf8").includes(") Z"))
    )
  })

  it.live("stops the programs of all teams at the same time", function* () {
    const folder = yield* newFolder
    mkdirSync(folder, { recursive: true })
    // A program that is stopped waits for the others to be stopped, as long as it may.
    const script = `cd '${folder}'
        trap 'touch $WEBHOOK_TEAM.stopped; until test -e a.stopped && test -e b.stopped; do sleep 0.05; done
          touch $WEBHOOK_TEAM.together; exit 1' TERM
        touch $WEBHOOK_TEAM.started; while :; do sleep 0.05; done`
    writeFileSync(join(folder, "agent.sh"), script)
    const has = (what: string) => ["a", "b"].every((team) => existsSync(join(folder, `${team}.${what}`)))
    yield* Effect.scoped(
      Effect.gen(function* () {
        const program = `sh ${join(folder, "agent.sh")}`
        const { url } = yield* InProcess.serve({ ADMIN_API_KEY, LEADERS: `a=${program}\nb=${program}` })
        for (const team of ["a", "b"]) {
          yield* call(url, "POST", `/api/teams/${team}/messages`, { message: "Hello." })
        }
        yield* untilEffect(
          "both work",
          Effect.sync(() => has("started"))
        )
      })
    )
    expect(has("together")).toBe(true)
  })
})
