import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { callSnippets, sampleVariables } from "../../src/ui/pages/CallSnippets.ts"
import { leaderSnippets } from "../../src/ui/pages/LeaderSnippets.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { type Daemon, exec, startDaemon } from "../support/Process.ts"
import { eventually, startTestUi, type TestUi } from "./TestUi.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

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
        const settings = { DATABASE_URL: yield* freshDatabase, AMQP_URL: yield* freshVhost }
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

  const leaderText = (team: string, id: string) => leaderSnippets(team).find((snippet) => snippet.id === id)!.text

  /** How a user runs what they have copied. */
  const ways: ReadonlyArray<readonly [team: string, id: string, command: (text: string) => [string, Array<string>]]> = [
    [
      "command",
      "command",
      (text) => [
        "/bin/sh",
        // The package is not installed from a registry here, and the broker has another address.
        ["-c", text.replace("npx webhook-trigger", `exec node ${root}dist/main.js`).replace(/^export .*\n/, "")]
      ]
    ],
    ["typescript", "typescript", (text) => [process.execPath, ["--input-type=module", "-e", text]]],
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

  it("call the webhook: curl, curl that waits, Python, JavaScript and the request body", async () => {
    const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", {
      name: "Snippets",
      team: "command",
      prompt_template: "{{title}} on {{alert.labels.host}}"
    })
    const text = (id: string) =>
      callSnippets(trigger_url, webhook.variables, 300).find((snippet) => snippet.id === id)!.text
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

  it("call the webhook from a CI job's script, indented as its YAML requires", async () => {
    const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", {
      name: "Jobs",
      team: "command",
      prompt_template: "{{title}}"
    })
    for (const [id, start] of [
      ["github", "  run: |\n"],
      ["gitlab", "    - |\n"]
    ] as const) {
      const { text } = callSnippets(trigger_url, webhook.variables, 300).find((snippet) => snippet.id === id)!
      expect(text).not.toContain("whk_")
      const block = text.slice(text.indexOf(start) + start.length).split("\n")
      const margin = /^ */.exec(block[0]!)![0]
      // Every line belongs to the block, or YAML would end it.
      for (const line of block) expect(line.startsWith(margin)).toBe(true)
      const script = block.map((line) => line.slice(margin.length)).join("\n")
      const ran = await exec("/bin/sh", ["-c", `${script} --silent`], { env: { ...env, WEBHOOK_URL: trigger_url } })
      expect(JSON.parse(ran.stdout)).toMatchObject({ status: "accepted" })
    }
    // The job's own retry, after a failure that may have come too late, starts no second run; another job does.
    for (const id of ["github", "gitlab"]) {
      const { text } = callSnippets(trigger_url, webhook.variables, 300).find((snippet) => snippet.id === id)!
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
  })
})
