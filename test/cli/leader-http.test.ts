import { randomUUID } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Exit, Fiber, Scope } from "effect"
import { startFakeModel } from "../agents/FakeModel.ts"
import { freshDatabase } from "../support/fresh.ts"
import * as InProcess from "../support/InProcess.ts"
import { afterAll, beforeAll, describe, expect, it } from "../support/It.ts"
import { freePort } from "../support/Process.ts"
import { until, untilEffect } from "../support/Until.ts"
import { refusedLeader } from "./CommandLine.ts"
import * as Program from "./Program.ts"
import { ADMIN_API_KEY } from "./SharedServer.ts"

/** A team of its own at the server, a key of it, and what an admin does there. */
const teamAt = (url: string) =>
  Effect.gen(function* () {
    const team = `review-${randomUUID()}`
    const folder = yield* Program.newFolder
    mkdirSync(folder)
    const call = (method: string, path: string, body?: object) =>
      Effect.promise(
        (): Promise<any> =>
          fetch(`${url}${path}`, {
            method,
            headers: { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" },
            ...(body && { body: JSON.stringify(body) })
          }).then(async (response) => JSON.parse((await response.text()) || "null"))
      )
    yield* call("POST", "/api/teams", { team })
    const created = yield* call("POST", `/api/teams/${team}/leader-keys`, { name: "laptop" })
    const file = join(folder, "leader.key")
    writeFileSync(file, `${created.key}\n`, { mode: 0o600 })
    const isRunning = (running: boolean) =>
      untilEffect(
        `running is ${running}`,
        Effect.map(call("GET", `/api/teams/${team}`), (team) => team.running === running)
      )
    return {
      ...{ call, file, folder, isRunning, team, url },
      key: created.key as string,
      revoke: call("DELETE", `/api/teams/${team}/leader-keys/${created.leader_key.id}`),
      say: (message: string) => call("POST", `/api/teams/${team}/messages?wait=true`, { message }),
      /** The run, once the leader works on it. */
      begin: (message: string) =>
        Effect.flatMap(
          call("POST", `/api/teams/${team}/messages`, { message }),
          ({ message_id }: { message_id: string }) =>
            untilEffect(
              "the run was started",
              Effect.map(call("GET", `/api/runs/${message_id}`), (run) => (run.started_at === undefined ? false : run))
            )
        ),
      ended: (run_id: string) =>
        untilEffect(
          "the run has ended",
          Effect.map(call("GET", `/api/runs/${run_id}`), (run) =>
            ["queued", "running"].includes(run.status) ? false : run
          )
        )
    }
  })

/** The settings of a server that starts again: its port and what it has stored stay. */
const lasting = Effect.gen(function* () {
  const PORT = String(yield* Effect.promise(() => freePort()))
  return { ADMIN_API_KEY, DATABASE_URL: yield* freshDatabase, SECRETS_KEY: "0".repeat(64), PORT }
})

const shell = ["--", "/bin/sh", "-s"]

describe("the leader command over HTTP", () => {
  const scope = Effect.runSync(Scope.make())
  let url: string
  const served = Effect.suspend(() => teamAt(url))

  beforeAll(async () => {
    url = (await Effect.runPromise(Scope.provide(InProcess.serve({ ADMIN_API_KEY }), scope))).url
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  it.live("answers the prompts of its key's team, and leaves when it is stopped", function* () {
    const { file, isRunning, key, say, team, url } = yield* served
    const leader = yield* Program.lead(["--url", url, "--key-file", file, "--team", team, ...shell], {})
    yield* isRunning(true)
    const environment = yield* say("env; echo $WEBHOOK_TEAM")
    expect(environment).toMatchObject({ status: "success", response: expect.stringContaining(team) })
    expect(environment.response).not.toContain(key)
    expect(yield* say("echo no disk >&2; exit 3")).toMatchObject({
      code: "agent_failed",
      detail: expect.stringContaining("no disk")
    })
    const { code, stderr } = yield* leader.end("SIGTERM")
    expect(code).toBe(0)
    expect(stderr).toContain(`receives the prompts of the team ${team} from ${url}`)
    expect(stderr).not.toContain(key)
    // At once, so that another leader does not wait for the prompts of a dead one.
    yield* isRunning(false)

    yield* Program.lead(shell, { LEADER_URL: `${url}/`, LEADER_KEY: key })
    yield* isRunning(true)
    expect(yield* say("env | grep -c LEADER_KEY || true")).toMatchObject({ status: "success", response: "0" })
  })

  it.live("stops the program when its run is cancelled, and goes on with the next", function* () {
    const { begin, call, file, isRunning, say, url } = yield* served
    const leader = yield* Program.lead(["--url", url, "--key-file", file, ...shell], {})
    yield* isRunning(true)
    const { run_id } = yield* begin("exec sleep 600")
    yield* call("POST", `/api/runs/${run_id}/cancel`)
    // The leader has one prompt at a time: it has stopped the program.
    expect(yield* say("echo next")).toMatchObject({ status: "success", response: "next" })
    expect(leader.log().match(/outcome=interrupted/g)).toHaveLength(1)
  })

  it.live("delivers its answer after the server was killed while it worked, without repeating the work", function* () {
    const settings = yield* lasting
    const server = yield* Program.serve(settings)
    const { begin, ended, file, folder, isRunning, url } = yield* teamAt(server.url)
    const [go, starts] = [join(folder, "go"), join(folder, "starts")]
    yield* Program.lead(["--url", url, "--key-file", file, ...shell], {})
    yield* isRunning(true)
    const { run_id } = yield* begin(
      `echo started >> ${starts}; until test -e ${go}; do sleep 0.05; done; cat ${starts}; rm ${go} ${starts}`
    )
    yield* server.end("SIGKILL")
    yield* Program.serve(settings)
    writeFileSync(go, "")
    expect(yield* ended(run_id)).toMatchObject({ status: "success", conversation: { response: "started" } })
  })

  it.live("gives its prompt to a standby when its process is killed at work", function* () {
    const { begin, ended, file, folder, isRunning, url } = yield* served
    const go = join(folder, "go")
    const first = yield* Program.lead(["--url", url, "--key-file", file, ...shell], { WHO: "first" })
    yield* isRunning(true)
    yield* Program.lead(["--url", url, "--key-file", file, ...shell], { WHO: "standby" })
    const { run_id } = yield* begin(`until test -e ${go}; do sleep 0.05; done; echo $WHO`)
    yield* first.end("SIGKILL")
    writeFileSync(go, "")
    expect(yield* ended(run_id)).toMatchObject({ status: "success", conversation: { response: "standby" } })
  })

  it.live("leads with a preset, whose tokens and model are stored", function* () {
    const { file, isRunning, say, url } = yield* served
    const model = yield* Effect.acquireRelease(
      Effect.promise(() => startFakeModel()),
      (model) => Effect.promise(() => model.close())
    )
    const options = ["--", "--model", "m-1", "--base-url", model.url]
    yield* Program.lead(["--url", url, "--key-file", file, "--agent", "openai", ...options], {})
    yield* isRunning(true)
    expect(yield* say("Do it.")).toMatchObject({
      status: "success",
      response: "I did what you asked.",
      usage: { input_tokens: 1200, output_tokens: 34, model: "m-1" }
    })
  })

  it.live("leads with an agent of the Agent Client Protocol, whose session, tokens and cost are stored", function* () {
    const { file, folder, isRunning, say, url } = yield* served
    const program = fileURLToPath(new URL("../leader/agents/acp-agent.mjs", import.meta.url))
    // It keeps its sessions in its folder.
    const agent = ["/bin/sh", "-c", `cd '${folder}' && exec '${process.execPath}' '${program}'`]
    const options = ["--agent", "acp", "--", "--allow", "execute", ...agent]
    yield* Program.lead(["--url", url, "--key-file", file, ...options], {})
    yield* isRunning(true)
    expect(yield* say("Do it.")).toMatchObject({
      ...{ status: "success", response: "You said: Do it.", session_id: "s.0" },
      usage: { input_tokens: 1200, cached_input_tokens: 200, output_tokens: 34, cost_usd: 0.5, model: "m-1" }
    })
    expect(yield* say("[[tool execute]]")).toMatchObject({ status: "success", response: "The answer was yes." })
    expect(yield* say("[[refuse]]")).toMatchObject({ detail: expect.stringContaining("the model refused") })
  })

  it.live("ends when its key is revoked, and stops its program", function* () {
    const { begin, file, isRunning, revoke, url } = yield* served
    const leader = yield* Program.start(["leader", "--url", url, "--key-file", file, ...shell], {})
    yield* isRunning(true)
    yield* begin("exec sleep 600")
    yield* revoke
    const { code, stderr } = yield* leader.ended
    expect(code).toBe(1)
    expect(stderr).toContain("The leader stopped: The leader key is wrong or was revoked.")
    expect(stderr.match(/wrong or was revoked/g)).toHaveLength(1)
  })

  it.live("waits until its server can be reached", function* () {
    const settings = yield* lasting
    const stopped = yield* Scope.make()
    const server = yield* Scope.provide(InProcess.serve(settings), stopped)
    const { file, isRunning, url } = yield* teamAt(server.url)
    yield* Scope.close(stopped, Exit.void)
    const leader = yield* Program.lead(["--url", url, "--key-file", file, ...shell], {})
    yield* Effect.promise(() => until("it has tried", () => leader.log().includes("cannot reach its server")))
    yield* InProcess.serve(settings)
    yield* isRunning(true)
  })

  it.live("does not start without a valid key, with another team, or with settings that contradict", function* () {
    const { file, key, team, url } = yield* served
    const start = (variables: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
      Effect.forkChild(Program.run(["leader", ...words, "--", "true"], variables))
    const refused = (variables: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
      Effect.forkChild(refusedLeader(variables, ...words, "--", "true"))
    const [LEADER_URL, LEADER_KEY, AMQP_URL] = [url, key, "amqp://127.0.0.1:9"]
    const wrong = { LEADER_KEY: `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}` }
    for (const [starting, code, says] of [
      [yield* start(wrong, "--url", url), 1, "The leader key is wrong or was revoked."],
      [yield* start({}, "--url", url, "--key-file", file, "--team", "deploy"), 1, `belongs to the team ${team}`],
      [yield* start({ LEADER_KEY }, "--url", `${url}/elsewhere`), 1, `${url}/elsewhere/leader/team answered 404`],
      [yield* refused({ LEADER_KEY: "secret" }, "--url", url), 2, "whl_"],
      [yield* refused({}, "--url", url), 2, "--key-file"],
      [yield* refused({}, "--url", url, "--key-file", "/no/such/file"), 2, "/no/such/file cannot be read"],
      [yield* refused({}, "--key-file", file), 2, "--url"],
      [yield* refused({ LEADER_KEY }, "--url", "localhost"), 2, "LEADER_URL"],
      [yield* refused({ LEADER_URL, LEADER_KEY, AMQP_URL }), 2, "AMQP_URL"],
      [yield* refused({ LEADER_KEY }, "--url", url, "--amqp-url", AMQP_URL), 2, "not both"],
      [yield* refused({ AMQP_URL }), 2, "--team is missing"]
    ] as const) {
      const ended = yield* Fiber.join<{ code: number | null; stdout: string; stderr: string }, never>(starting)
      expect(ended, says).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(says) })
      expect(ended.stderr).not.toContain(key)
    }
  })
})
