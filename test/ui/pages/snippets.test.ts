import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Result, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { sampleRequest, sampleVariables } from "../../../src/domain/request/SampleRequest.ts"
import { presetNames } from "../../../src/domain/verification/Presets.ts"
import { sampleFor } from "../../../src/recipes/SampleFor.ts"
import { agentLines, commands } from "../../../src/server/leaders/LeaderList.ts"
import { leaderSnippets } from "../../../src/ui/pages/team/LeaderSnippets.ts"
import { callSnippets } from "../../../src/ui/pages/webhook/CallSnippets.ts"
import { freshDatabase, freshVhost } from "../../support/fresh.ts"
import { type Daemon, exec, startDaemon } from "../../support/Process.ts"
import { until } from "../../support/Until.ts"
import { adminKey, eventually, startTestUi, type TestUi } from "../TestUi.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))

describe("the sample variables of a call", () => {
  it("are nested for names with dots, unless that would be ambiguous", () => {
    expect(sampleVariables(["a.b", "a.c.d", "x"])).toEqual({
      a: { b: "your a.b", c: { d: "your a.c.d" } },
      x: "your x"
    })
    expect(sampleVariables(["a.b", "a"])).toEqual({ "a.b": "your a.b", a: "your a" })
    expect(Object.entries(sampleVariables(["__proto__", "__proto__.x"]))).toEqual([
      ["__proto__", "your __proto__"],
      ["__proto__.x", "your __proto__.x"]
    ])
    expect(sampleVariables([])).toEqual({})
    expect(sampleVariables(["a.0.b", "a.1.b", "c.1"])).toEqual({
      a: [{ b: "your a.0.b" }, { b: "your a.1.b" }],
      c: { 1: "your c.1" }
    })
  })

  it("are a body, headers and query of a whole request", () => {
    const names = ["payload", "payload.commits.0.id", "headers.x-event", "query.a b", "headers", 'headers."x y"']
    expect(sampleRequest("payload", names)).toEqual({
      body: { commits: [{ id: "your commits.0.id" }] },
      headers: { "x-event": "your x-event" },
      query: { "a b": "your a b" }
    })
    expect(sampleRequest(undefined, ["payload.a"])).toEqual({
      body: { variables: { payload: { a: "your payload.a" } } },
      headers: {},
      query: {}
    })
  })
})

it("the sample of a call has what the filter compares with", () => {
  const sampleOf = (accept_if: string, input?: string) =>
    sampleFor({ variables: ["branch"], accept_if, ...(input && { input }) })
  expect(sampleOf("branch == 'main' && 'x' == env.name && contains(['a', 'b'], kind) && draft != `true`").body).toEqual(
    {
      variables: { branch: "main", env: { name: "x" }, kind: "a" }
    }
  )
  const accept_if =
    "(headers.\"x-kind\" == 'push' || payload.no) && starts_with(payload.ref, 'refs/') && query.n == '1'"
  expect(sampleOf(accept_if, "payload")).toEqual({
    body: { ref: "refs/" },
    headers: { "x-kind": "push" },
    query: { n: "1" }
  })
})

describe("the snippets", () => {
  let ui: TestUi
  let dir: string
  let env: Record<string, string>
  const leaders: Array<Daemon> = []

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "webhook-trigger-snippets-"))
    ui = await startTestUi(
      Effect.gen(function* () {
        const settings = {
          DATABASE_URL: yield* freshDatabase,
          AMQP_URL: yield* freshVhost,
          SECRETS_KEY: "0".repeat(64)
        }
        env = { PATH: process.env.PATH ?? "", AMQP_URL: settings.AMQP_URL }
        return settings
      })
    )
  })
  afterAll(async () => {
    await Promise.all(leaders.map((leader) => leader.stop("SIGKILL")))
    await ui?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const leaderText = (team: string, id: string) =>
    leaderSnippets(team, { bus: "RabbitMQ", command, public_url: ui.server.url }).find((snippet) => snippet.id === id)!
      .text

  /** Without optimized WebAssembly, since the embedded database is short-lived. */
  const command = `node --no-wasm-tier-up --no-wasm-dynamic-tiering ${root}dist/main.js`

  it("start a server that leads the team with an agent", async () => {
    const bin = mkdtempSync(join(dir, "bin-"))
    const recorded = join(root, "test/agents/recorded/claude/answer.jsonl")
    writeFileSync(join(bin, "claude"), `#!/bin/sh\ncat '${recorded}'\n`, { mode: 0o755 })
    const folder = mkdtempSync(join(dir, "server-"))
    const env = { PATH: `${bin}:${process.env.PATH}`, PORT: "0", ADMIN_API_KEY: "a-key-for-these-tests" }
    leaders.push(startDaemon(folder, "/bin/sh", ["-c", `exec ${leaderText("led", "agent")}`], { env, cwd: folder }))
    const curl = () => /curl .*"task".*/.exec(readFileSync(join(folder, "output.log"), "utf8"))?.[0]
    await until("the server has printed how to trigger it", async () => curl() !== undefined)
    const { stdout } = await exec("/bin/sh", ["-c", `${curl()} --silent`])
    expect(JSON.parse(stdout)).toMatchObject({ status: "success", response: "I did what you asked." })
  })

  it("start a server with options that each preset of an agent takes", () => {
    for (const id of ["agent", "acp", "openai", "langgraph"]) {
      const [, line = ""] = /--agent '(.+)'/.exec(leaderText("led", id)) ?? []
      const leaders = Schema.decodeSync(agentLines.schema)(line)
      expect(leaders.map(({ agent, team }) => [team, Result.isSuccess(agent)])).toEqual([["led", true]])
    }
  })

  it("start a server with the line of any program that leads the team", () => {
    const [, line = ""] = /--leader '(.+)'$/.exec(leaderText("led", "server")) ?? []
    const leaders = Schema.decodeSync(commands.schema)(line)
    expect(leaders).toMatchObject([{ team: "led", title: "cat" }])
  })

  /** How a user runs what they have copied. */
  const ways: ReadonlyArray<readonly [team: string, id: string, command: (text: string) => [string, Array<string>]]> = [
    [
      "command",
      "command",
      (text) => [
        "/bin/sh",
        // The broker has another address.
        ["-c", text.replace(/^export .*\n/, "exec ")]
      ]
    ],
    ["python", "python", (text) => ["/usr/bin/python3", ["-c", text]]]
  ]

  for (const [team, id, command] of ways) {
    it(`start a leader that answers: ${id}`, async () => {
      await ui.call("POST", "/api/teams", { team })
      const [program, args] = command(leaderText(team, id))
      leaders.push(startDaemon(mkdtempSync(join(dir, "leader-")), program, args, { env, cwd: root }))
      const running = async () => (await ui.call("GET", `/api/teams/${team}`)).running
      await eventually(running).toBe(true)
      const answer = await ui.call("POST", `/api/teams/${team}/messages?wait=true`, { message: "hello" })
      expect(answer.response).toBe(id === "command" ? "hello" : "You said: hello")
    })
  }

  it("start a leader that answers over HTTP with a key of its team", async () => {
    await ui.call("POST", "/api/teams", { team: "http" })
    const folder = mkdtempSync(join(dir, "leader-"))
    const environment = { env: { PATH: process.env.PATH ?? "", ADMIN_API_KEY: adminKey }, cwd: folder }
    const text = leaderText("http", "http").replace(/\n/, "\nexec ")
    leaders.push(startDaemon(folder, "/bin/sh", ["-c", text], environment))
    await eventually(async () => (await ui.call("GET", "/api/teams/http")).running).toBe(true)
    const answer = await ui.call("POST", "/api/teams/http/messages?wait=true", { message: "hello" })
    expect(answer.response).toBe("hello")
  })

  it("call the webhook: curl, curl that waits, Python, JavaScript and the request body", async () => {
    const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", {
      name: "Snippets",
      team: "command",
      prompt_template: "{{title}} on {{alert.labels.host}}"
    })
    const text = (id: string) => callSnippets(trigger_url, webhook, 300).find((snippet) => snippet.id === id)!.text
    const prompt = "your title on your alert.labels.host"
    const accepted = await exec("/bin/sh", ["-c", `${text("curl")} --silent`])
    expect(JSON.parse(accepted.stdout)).toMatchObject({ status: "accepted" })
    const waited = await exec("/bin/sh", ["-c", `${text("curl-wait")} --silent`])
    expect(JSON.parse(waited.stdout)).toMatchObject({ status: "success", response: prompt })
    const python = await exec("/usr/bin/python3", ["-c", text("python")])
    expect(python.stdout.trim()).toBe(prompt)
    const javascript = await exec(process.execPath, ["--input-type=module", "-e", text("javascript")])
    expect(javascript.stdout.trim()).toBe(prompt)
    const body = await exec("curl", [
      "--silent",
      "-H",
      "Content-Type: application/json",
      "-d",
      text("body"),
      trigger_url
    ])
    expect(JSON.parse(body.stdout)).toMatchObject({ status: "accepted" })
  })

  it("call a webhook for whole requests with what its template names of them", async () => {
    const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", {
      name: "Requests",
      team: "command",
      input: "payload",
      prompt_template: "{{headers.x-event}} {{payload.commits.0.id}} {{query.env}}"
    })
    const prompt = "your x-event your commits.0.id your env"
    const text = (id: string) => callSnippets(trigger_url, webhook, 300).find((snippet) => snippet.id === id)!.text
    const waited = await exec("/bin/sh", ["-c", `${text("curl-wait")} --silent`])
    expect(JSON.parse(waited.stdout)).toMatchObject({ status: "success", response: prompt })
    const python = await exec("/usr/bin/python3", ["-c", text("python")])
    expect(python.stdout.trim()).toBe(prompt)
    const javascript = await exec(process.execPath, ["--input-type=module", "-e", text("javascript")])
    expect(javascript.stdout.trim()).toBe(prompt)
    expect(text("powershell")).toContain("-Headers @{ 'x-event' = 'your x-event' }")
    expect(text("github")).toContain('"$WEBHOOK_URL?env=your+env"')
  })

  it("call a webhook of every verification, with a signature or the secret", async () => {
    const key = `whsec_${Buffer.from("a key of 24 bytes, no less").toString("base64")}`
    const signed = "v1 '$id`\\!\"{id}.{timestamp}.{body}"
    const own = { timestamp_header: "x-sent", id_header: "x-id", signed }
    /** Of services with a recipe, whose examples `http/trigger/sources` runs. */
    const shown = [
      ...["github", "gitlab", "slack", "standard-webhooks", "stripe", "sentry", "linear", "pagerduty", "jira"],
      ...["calendly", "hubspot", "mux", "paddle", "square", "twitch", "zendesk", "zoom", "microsoft-graph"]
    ].map((preset) => ({ preset }))
    const others = [
      { preset: "meta", verify_token: "any" },
      { preset: "event-grid", header: "x-webhook-secret" }
    ]
    const run = [
      ...["asana", "dropbox", "lark", "notion", "okta", "twilio"].map((preset) => ({ preset })),
      { preset: "trello" },
      { preset: "teams" },
      { preset: "grafana", timestamp_header: "x-time" },
      { preset: "alertmanager", username: "it's" },
      { preset: "bearer" },
      { preset: "basic", username: "it's" },
      { preset: "header", header: "x-secret", prefix: "key " },
      { preset: "hmac", header: "x-sig", algorithm: "sha512", encoding: "base64", prefix: "h=", ...own }
    ]
    const verifications = [...shown, ...others, ...run]
    // Only the service has the private key, or its provider.
    const unshown: ReadonlyArray<string> = ["discord", "aws-sns", "google", "public-key", "jwt"]
    expect(new Set(verifications.map(({ preset }) => preset))).toEqual(
      new Set(presetNames.filter((name) => !unshown.includes(name)))
    )
    for (const verification of verifications) {
      const { preset } = verification
      const secret = preset === "gitlab" ? "a secret token" : preset === "teams" ? key.slice(6) : key
      // Twilio sends forms.
      const prompt_template = preset === "twilio" ? "{{payload.a}}'" : "{{payload.a.b}}'"
      const draft = { name: "Verified", team: "command", input: "payload", prompt_template }
      const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", { ...draft, verification, secret })
      const snippets = callSnippets(trigger_url, webhook, 300)
      const { text, hint } = snippets.find(({ id }) => id === "curl-wait")!
      expect(hint).toContain("Set WEBHOOK_SECRET")
      expect(snippets.map(({ id }) => id)).toEqual(["curl", "curl-wait", "github", "gitlab", "body"])
      if (!run.some((one) => one.preset === preset)) continue
      const environment = { env: { PATH: env.PATH!, WEBHOOK_SECRET: secret, WEBHOOK_URL: trigger_url } }
      const { stdout } = await exec("/bin/sh", ["-c", `${text} --silent`], environment)
      expect(JSON.parse(stdout), preset).toMatchObject({
        status: "success",
        response: prompt_template.replace(/\{\{payload\.(.*)\}\}/, "your $1")
      })
    }
  })

  it("call the webhook from a CI job's script, indented as its YAML requires", async () => {
    const created = await ui.call("POST", "/api/webhooks", {
      name: "Jobs",
      team: "command",
      prompt_template: "{{title}}"
    })
    const { webhook, trigger_url } = created
    const verified = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Signed jobs", team: "command", prompt_template: "{{title}}" },
      ...{ verification: { preset: "github" }, secret: "s3cret" }
    })
    for (const [id, start, { webhook, trigger_url }] of [
      ["github", "  run: |\n", created],
      ["gitlab", "    - |\n", created],
      ["github", "  run: |\n", verified],
      ["gitlab", "    - |\n", verified]
    ] as const) {
      const { text } = callSnippets(trigger_url, webhook, 300).find((snippet) => snippet.id === id)!
      expect(text).not.toContain("whk_")
      const block = text.slice(text.indexOf(start) + start.length).split("\n")
      const margin = /^ */.exec(block[0]!)![0]
      // Every line belongs to the block, or YAML would end it.
      for (const line of block) expect(line.startsWith(margin)).toBe(true)
      const script = block.map((line) => line.slice(margin.length)).join("\n")
      const ran = await exec("/bin/sh", ["-c", `${script} --silent`], {
        env: { ...env, WEBHOOK_URL: trigger_url, WEBHOOK_SECRET: "s3cret" }
      })
      expect(JSON.parse(ran.stdout)).toMatchObject({ status: "accepted" })
    }
    // The job's own retry, after a failure that may have come too late, starts no second run; another job does.
    const retried = async (id: string) => {
      const { text } = callSnippets(trigger_url, webhook, 300).find((snippet) => snippet.id === id)!
      const keys: Array<string> = []
      const failing = createServer((request, response) => {
        keys.push(String(request.headers["idempotency-key"]))
        request.resume().on("end", () => response.writeHead(keys.length % 2 === 1 ? 503 : 202).end("{}"))
      })
      const port = await new Promise<number>((resolve) =>
        failing.listen(0, () => resolve((failing.address() as AddressInfo).port))
      )
      const script = text.slice(text.indexOf("curl ")).replace("--retry 3", "--retry 3 --retry-delay 1 --silent")
      const url = { env: { ...env, WEBHOOK_URL: `http://localhost:${port}` } }
      for (let job = 0; job < 2; job++) await exec("/bin/sh", ["-c", script], url)
      failing.close()
      expect(keys).toHaveLength(4)
      expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
      expect([keys[0] === keys[1], keys[2] === keys[3], keys[0] === keys[2]]).toEqual([true, true, false])
    }
    await Promise.all(["github", "gitlab"].map(retried))
  })
})
