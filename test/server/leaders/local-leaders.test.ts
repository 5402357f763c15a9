import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import * as LeaderHttp from "../../../src/bus/http/LeaderHttp.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import * as Leader from "../../../src/leader/Leader.ts"
import { refusedServer } from "../../cli/CommandLine.ts"
import { newFolder, run, type Server, serve, shell } from "../../cli/Program.ts"
import { folderInPath } from "../../leader/agents/Leading.ts"
import { freshDatabase, freshVhost } from "../../support/fresh.ts"
import * as InProcess from "../../support/InProcess.ts"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { ADMIN_API_KEY, call } from "./Management.ts"

const ask = (url: string, message: string, team = "demo") =>
  call(url, "POST", `/api/teams/${team}/messages?wait=true`, { message })

/** The line that triggers the team's webhook, as the start prints it. */
const curlOf = (server: Server, team: string): string =>
  new RegExp(`The team ${team} is led by[^]*?(curl .*)`).exec(server.welcome())![1]!

const api = (server: Server, ...words: ReadonlyArray<string>) =>
  Effect.map(run([...words, "--json", "--url", server.url], { ADMIN_API_KEY }), ({ stdout }) => JSON.parse(stdout))

// Creating a database takes PGlite seconds of computing, many on a busy machine.
describe("a server that leads teams itself", () => {
  it.live(
    "creates each team with a webhook in the embedded database, and prints a line that gets an answer",
    function* () {
      const DATA_DIR = yield* newFolder
      const leaders = [
        "--leader",
        "first=sed 's/^/first: /'",
        "--leader",
        "second=sh -c 'cat; echo \" $WEBHOOK_TEAM\"'",
        "--leader",
        `third=--output json-lines echo '{"response":"third","session_id":"s-3"}'`
      ]
      const server = yield* serve({ DATA_DIR, ADMIN_API_KEY }, leaders)
      const [first, second, third] = yield* Effect.forEach(["first", "second", "third"], (team) =>
        Effect.map(shell(`${curlOf(server, team)} --silent`), ({ stdout }) => JSON.parse(stdout))
      )
      expect(first).toMatchObject({ status: "success", response: "first: Say hello." })
      expect(second).toMatchObject({ status: "success", response: "Say hello. second" })
      expect(third).toMatchObject({ status: "success", response: "third", session_id: "s-3" })
      expect((yield* server.end("SIGTERM")).code).toBe(0)

      const again = yield* serve({ DATA_DIR, ADMIN_API_KEY, LEADERS: "first=cat" })
      expect(again.welcome()).toContain("The team first is led by cat, in this process.")
      expect(again.welcome()).not.toContain("curl")
      expect(again.welcome()).not.toContain("--agent")
      expect((yield* api(again, "team", "list")).data).toMatchObject([
        { team: "demo" },
        { team: "first" },
        { team: "second" },
        { team: "third" }
      ])
      expect((yield* api(again, "webhook", "list")).data.length).toBe(4)
    }
  )

  it.live("leads on PostgreSQL and RabbitMQ too, and its programs get none of its secrets", function* () {
    const [DATABASE_URL, AMQP_URL] = [yield* freshDatabase, yield* freshVhost]
    const secrets = { DATABASE_URL, AMQP_URL, ADMIN_API_KEY, METRICS_TOKEN: "a-token-for-these-tests" }
    const spy = 'sh -c \'cat; env; tr "\\0" "\\n" < /proc/$PPID/environ; cat /proc/$PPID/cmdline\''
    const server = yield* serve({ ...secrets, CONTROL: "visible", LEADERS: `review=${spy}` })
    expect(server.welcome()).not.toContain("curl")
    expect((yield* api(server, "team", "list")).data).toMatchObject([{ team: "review" }])
    expect((yield* api(server, "webhook", "list")).data).toEqual([])
    const { stdout } = yield* run(["team", "message", "review", "Hello.", "--wait", "--url", server.url], {
      ADMIN_API_KEY
    })
    expect(stdout).toContain("Hello.")
    expect(stdout.match(/CONTROL=visible/g)).toHaveLength(2)
    for (const secret of Object.values(secrets)) expect(stdout).not.toContain(secret)
    expect((yield* server.end("SIGTERM")).code).toBe(0)
  })

  it.live("lets the operator's leader of the demo team answer instead of its own", function* () {
    const server = yield* InProcess.serve({ ADMIN_API_KEY, LEADERS: "demo=sed 's/^/mine: /'" })
    expect(server.welcome).toContain("The team demo is led by sed, in this process.")
    expect(server.welcome).not.toContain("answers each prompt with the prompt itself")
    expect(yield* ask(server.url, "Hello.")).toMatchObject({ response: "mine: Hello." })
  })

  it.live(
    "stops an agent that shows nothing for the stall timeout of the settings, unless its own options say otherwise",
    function* () {
      const LEADERS = "demo=sleep 600\nsteady=--stall-timeout off sh -c 'sleep 2; cat'"
      const { url } = yield* InProcess.serve({ ADMIN_API_KEY, AGENT_STALL_TIMEOUT: "1 s", LEADERS })
      expect(yield* ask(url, "Hello.")).toMatchObject({
        detail: expect.stringContaining("sleep was stopped: it had shown nothing for 1s")
      })
      expect(yield* ask(url, "Hello.", "steady")).toMatchObject({ response: "Hello." })
    }
  )

  it.live("lets a leader over HTTP take the demo team, and stays away from a team with a key", function* () {
    const DATABASE_URL = yield* freshDatabase
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* InProcess.serve({ ADMIN_API_KEY, DATABASE_URL })
        expect(yield* ask(url, "Hello.")).toMatchObject({ response: "Hello." })
        const { key } = yield* call(url, "POST", "/api/teams/demo/leader-keys", { name: "laptop" })
        const handler = () => Effect.succeed("from afar")
        yield* Leader.start({ team: TeamName.make("demo"), handler }).pipe(
          Effect.provide(LeaderHttp.layer({ url, key: Redacted.make(key) }))
        )
        yield* untilEffect(
          "the answer is the leader's",
          Effect.map(ask(url, "Hello."), ({ response }) => response === "from afar")
        )
      })
    )
    const again = yield* InProcess.serve({ ADMIN_API_KEY, DATABASE_URL })
    expect(yield* call(again.url, "GET", "/api/teams/demo")).toMatchObject({ running: false })
  })

  it.live("leads with an agent by its name, in a working folder of its team", function* () {
    const [DATA_DIR, folder] = [yield* newFolder, yield* newFolder]
    const answer = { type: "result", is_error: false, result: "done", session_id: "s-1", total_cost_usd: 0.5 }
    const script = `#!/bin/sh\npwd > "$0.folder"\necho "$@" > "$0.options"\necho '${JSON.stringify(answer)}'\n`
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "claude"), script, { mode: 0o755 })
    const AGENTS_DIR = join(folder, "agents")
    const PATH = `${folder}:${process.env.PATH}`
    const server = yield* serve({ DATA_DIR, ADMIN_API_KEY, AGENTS_DIR, PATH }, [
      "--agent",
      "review=claude --allowedTools 'a b'"
    ])
    const { stdout } = yield* shell(`${curlOf(server, "review")} --silent`)
    expect(JSON.parse(stdout)).toMatchObject({
      status: "success",
      response: "done",
      session_id: "s-1",
      usage: { cost_usd: 0.5 }
    })
    expect(readFileSync(join(folder, "claude.folder"), "utf8").trim()).toBe(join(AGENTS_DIR, "review"))
    expect(readFileSync(join(folder, "claude.options"), "utf8").trim()).toMatch(/^-p .* --allowedTools a b$/)
  })

  it.live(
    "charges each turn of a conversation once, also after a restart, when the agent counts the session",
    function* () {
      const [DATABASE_URL, folder] = [yield* freshDatabase, yield* folderInPath]
      const session_id = "3c85dd9c-1122-4ad1-b28d-77848b698410"
      const script = `read -r prompt; echo turn >> '${folder}/turns'; n=$(grep -c turn '${folder}/turns')
        echo '{"type":"result","is_error":false,"result":"yes","session_id":"${session_id}","total_cost_usd":'$n',
        "usage":{"input_tokens":100,"output_tokens":10},"modelUsage":{"m":{"inputTokens":'$((n * 700))',"outputTokens":'$((n * 70))'}}}' | tr -d '\\n'`
      writeFileSync(join(folder, "claude"), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      const settings = { ADMIN_API_KEY, DATABASE_URL, AGENTS_DIR: join(folder, "agents") }
      const AGENTS = "review=claude --permission-mode acceptEdits"
      const turn = Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* InProcess.serve({ ...settings, AGENTS })
          return yield* call(url, "POST", "/api/teams/review/messages?wait=true", { message: "Go.", thread: "7" })
        })
      )
      const usage = { input_tokens: 700, output_tokens: 70, cost_usd: 1, model: "m" }
      for (const _ of [1, 2, 3]) expect(yield* turn).toMatchObject({ response: "yes", session_id, usage })
    }
  )

  it.live("says how to begin with an own agent, on either bus, unless it leads a team already", function* () {
    const server = yield* serve({ DATA_DIR: yield* newFolder, ADMIN_API_KEY, AMQP_URL: yield* freshVhost })
    expect(server.welcome()).toMatch(
      /\n {2}node .*main.js serve --agent 'review=claude --permission-mode acceptEdits'\n/
    )
    expect(server.welcome()).toMatch(/\n {2}node .*main.js serve --leader 'review=my-agent --print'\n/)
  })

  it.live(
    "does not start with a line that names no team, a team twice, or a program that does not exist",
    function* () {
      const DATA_DIR = yield* newFolder
      const start = (...options: ReadonlyArray<string>) => refusedServer({ DATA_DIR, PORT: "0" }, ...options)
      for (const [ended, says] of [
        [yield* start("--leader", "my-agent --print"), "LEADERS"],
        [yield* start("--leader", "Review=cat"), "LEADERS"],
        [yield* start("--leader", "a=cat", "--leader", "a=sed"), "each team once"],
        [yield* start("--leader", "a=--output json-lines"), "LEADERS"],
        [yield* start("--leader", "a=--output yaml cat"), "json-lines"],
        [yield* start("--leader", "a=no-such-program"), "no-such-program"],
        [yield* start("--agent", "a=cat"), "AGENTS"],
        [yield* start("--agent", "a=codex", "--leader", "a=cat"), "LEADERS"],
        [yield* start("--agent", "a=claude --model m"), "--permission-mode"],
        [yield* start("--leader", "a=--workspace-keep 3x cat"), "--workspace-keep needs --workspace"],
        [yield* start("--agent", "a=openai --workspace git:/srv/shop --model m"), "works in no folder"],
        [yield* start("--leader", "a=cat", "--leader-user", "no-such-user"), "no-such-user"]
      ] as const) {
        expect(ended, says).toMatchObject({ code: 2, stdout: "" })
        expect(ended.stderr).toContain(says)
      }
    }
  )
})
