/** Every block of shell commands in the documentation is run as it stands there, or is named here with the reason why not. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type FakeModel, startFakeModel } from "../agents/FakeModel.ts"
import * as Program from "../cli/Program.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { cleanUpAtExit, exec, freePort, startDaemon } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const root = new URL("../../", import.meta.url).pathname
const ADMIN_API_KEY = "a-key-for-these-tests"

const blocksOf = (page: string): ReadonlyArray<string> =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text]) => text!)

const pagesWithBlocks = () =>
  [...readdirSync(root), ...readdirSync(join(root, "docs"), { recursive: true }).map((name) => `docs/${name}`)]
    .filter((page) => page.endsWith(".md"))
    .filter((page) => blocksOf(page).length > 0)
    .sort()

const rights = "the test of the rights on the broker grants these"
const notRun: { readonly [page: string]: { readonly [block: number]: string } } = {
  "README.md": { 0: "CI does this with a fresh clone" },
  "CONTRIBUTING.md": { 0: "the tests themselves" },
  "docs/run/access.md": { 1: "test/server/environment/oidc.test.ts reads these settings" },
  "docs/reference/amqp.md": { 0: rights, 1: rights },
  "docs/use/mcp.md": {
    2: "test:agents adds the server to the real program",
    3: "is a setting, which test/http/mcp/browser-clients.test.ts uses"
  },
  "docs/start/github.md": { 0: "clones a repository of the reader" },
  "docs/start/alertmanager.md": { 1: "needs an Alertmanager" },
  "docs/run/upgrading.md": { 0: "needs a clone that is behind" },
  "docs/run/deploy.md": {
    1: "docs/start/first-webhook.md's and test/package's installations",
    2: rights,
    3: "needs Docker",
    4: "needs a bucket; test/http/trigger/files.test.ts has one"
  },
  "docs/run/kubernetes.md": Object.fromEntries(
    blocksOf("docs/run/kubernetes.md").map((_, index) => [
      index,
      "needs Docker or a cluster; test/deploy checks the chart"
    ])
  ),
  "docs/internals/embedding.md": { 0: "test/package installs the package with these lines" },
  "docs/internals/faults.md": { 0: "the tests themselves" },
  "docs/use/configuration-as-code.md": { 0: "configuration.test.ts does" },
  "docs/run/alerts.md": {
    0: "test/cli/alerts.test.ts and test/http/manage/alerts.test.ts add destinations and rules"
  },
  "docs/use/destinations.md": {
    0: "test/http/manage/destinations.test.ts adds destinations that have a receiver",
    1: "test/http/manage/callbacks.test.ts triggers with callbacks",
    2: "test/http/manage/chains.test.ts adds chains",
    3: "is a setting, which test/engine/egress/AddressPolicy.test.ts reads"
  },
  "docs/use/agents.md": { 4: "needs Gemini CLI; test/agents runs it" },
  "docs/sources/generic.md": { 0: "sources.test.ts does" }
}

const run = new Set<string>()

const filled = (text: string, filledIn: Readonly<Record<string, string>>): string =>
  Object.entries(filledIn).reduce((text, [from, to]) => {
    expect(text).toContain(from)
    return text.replace(from, to)
  }, text)

/** A block of a page, with what only its reader can know filled in. */
const block = (page: string, index: number, filledIn: Readonly<Record<string, string>> = {}): string => {
  run.add(`${page} ${index}`)
  return filled(blocksOf(page)[index]!, filledIn)
}

/** Its reader is in the folder of the clone. */
const here = { "node dist/main.js": `node ${Program.program}` }

describe("the commands of the documentation", () => {
  const folder = mkdtempSync(join(tmpdir(), "webhook-trigger-docs-"))
  const remove = cleanUpAtExit(folder)
  const scope = Effect.runSync(Scope.make())
  const inScope = <A>(resource: Effect.Effect<A, never, Scope.Scope>) =>
    Effect.runPromise(Scope.provide(resource, scope))

  /** The programs that the blocks name, as their readers have them. */
  const bin = join(folder, "bin")
  const install = (name: string, script: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  mkdirSync(bin)
  chmodSync(folder, 0o755)
  install("webhook-trigger", `exec '${process.execPath}' '${Program.program}' "$@"`)
  install("my-agent", "tr a-z A-Z")
  install("claude", `cat '${join(root, "test/agents/recorded/claude/answer.jsonl")}'`)
  install("opencode", `exec '${process.execPath}' '${join(root, "test/leader/agents/acp-agent.mjs")}'`)
  const repository = join(folder, "shop")
  const agentAnswer = "I did what you asked."
  const env = (variables: Readonly<Record<string, string>>) => ({
    PATH: `${bin}:${process.env.PATH}`,
    ADMIN_API_KEY,
    ...variables
  })

  /** Runs a block to its end; its output. */
  const shell = async (text: string, variables: Readonly<Record<string, string>>): Promise<string> =>
    (await exec("/bin/sh", ["-ec", text], { cwd: folder, env: env(variables) })).stdout

  /** Runs a block whose last line is a command that does not end by itself, and which alone gets the signal. */
  const start = (name: string, text: string, variables: Readonly<Record<string, string>>) => {
    const dir = join(folder, name)
    mkdirSync(dir)
    const line = text.trimEnd().replace(/.*$/, "exec env $&")
    const daemon = startDaemon(dir, "/bin/sh", ["-ec", line], { cwd: dir, env: env(variables) })
    const output = () => readFileSync(join(dir, "output.log"), "utf8")
    return {
      output,
      until: (what: string, check: () => Promise<boolean>) =>
        until(what, async () => {
          if (!daemon.alive()) throw new Error(output())
          return check()
        }),
      stop: async () => {
        daemon.signal("SIGTERM")
        await daemon.exited
        expect(() => process.kill(-daemon.pid, 0), "something that it has started lives on").toThrow("ESRCH")
      }
    }
  }

  let embedded: Program.Server
  let demoUrl: string
  let model: FakeModel
  let AMQP_URL: string
  let DATABASE_URL: string
  beforeAll(async () => {
    model = await startFakeModel()
    ;[AMQP_URL, DATABASE_URL] = [await inScope(freshVhost), await inScope(freshDatabase)]
    await exec("/bin/sh", [
      "-ec",
      `git init -q '${repository}' && cd '${repository}' && echo Shop > README.md && git add .
      git -c user.name=Ann -c user.email=ann@example.com commit -qm 'Begin'`
    ])
    embedded = await inScope(
      Effect.flatMap(Program.newFolder, (DATA_DIR) => Program.serve({ DATA_DIR, ADMIN_API_KEY }))
    )
    demoUrl = /'(\S+\/webhook\/trigger\/\S+?)'/.exec(embedded.welcome())![1]!
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await model.close()
    await remove()
  })

  it("docs/start/first-webhook.md: installing the command in the clone", async () => {
    const npm_config_prefix = join(folder, "global")
    await exec("/bin/sh", ["-ec", block("docs/start/first-webhook.md", 0)], {
      cwd: root,
      env: env({ npm_config_prefix })
    })
    const { stdout } = await exec(join(npm_config_prefix, "bin/webhook-trigger"), ["--version"])
    expect(stdout.trim()).toBe(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version)
  })

  it("docs/start/first-webhook.md: a webhook of your own, and triggering it in CI", async () => {
    const WEBHOOK_TRIGGER_URL = embedded.url
    const key = { "ADMIN_API_KEY=…": `ADMIN_API_KEY=${ADMIN_API_KEY}` }
    const created = await shell(block("docs/start/first-webhook.md", 1, key), { WEBHOOK_TRIGGER_URL })
    const REVIEW_WEBHOOK_URL = /\S+\/webhook\/trigger\/whk_\w+/.exec(created)![0]
    const variables = { REVIEW_WEBHOOK_URL, BRANCH: "main", REPO: "api" }
    expect(JSON.parse(await shell(block("docs/start/first-webhook.md", 2), variables))).toMatchObject({
      status: "accepted"
    })
  })

  it.each([
    ["README.md", () => block("README.md", 1, here), agentAnswer],
    ["docs/use/agents.md", () => block("docs/use/agents.md", 0), agentAnswer],
    [
      "docs/use/agents.md: a workspace",
      () =>
        block("docs/use/agents.md", 2, { "https://github.com/acme/shop": repository, "npm ci": "test -f README.md" }),
      agentAnswer
    ],
    ["docs/use/agents.md: models and permissions", () => block("docs/use/agents.md", 3), agentAnswer],
    ["docs/use/agents.md: ACP", () => block("docs/use/agents.md", 5), "You said: "],
    [
      "docs/use/agents.md: OpenAI",
      () => block("docs/use/agents.md", 6, { "OPENAI_API_KEY=…": "OPENAI_API_KEY=fake" }),
      agentAnswer
    ],
    [
      "the welcome of a first start",
      () => filled(/^ +(node .* serve --agent .*)$/m.exec(embedded.welcome())![1]!, here),
      agentAnswer
    ]
  ] as const)("%s: a server that runs an agent itself", async (of, text, answer) => {
    const server = start(of.replaceAll(/\W/g, "-"), text(), { PORT: "0", OPENAI_BASE_URL: model.url })
    const trigger = () => /curl .*"task".*/.exec(server.output())?.[0]
    await server.until("the server has printed how to trigger it", async () => trigger() !== undefined)
    expect(await shell(`${trigger()} --silent`, {})).toContain(`"response":"${answer}`)
    await server.stop()
  })

  it.each([
    ["README.md", 2, "https://….trycloudflare.com"],
    ["docs/start/github.md", 1, "https://quick-words.trycloudflare.com"],
    ["docs/start/slack.md", 0, "https://quick-words.trycloudflare.com"],
    ["docs/start/alertmanager.md", 0, "http://10.0.0.5:8080"]
  ] as const)("%s: a server behind a tunnel, with its own address for people", async (page, index, publicUrl) => {
    const [port, adminPort] = [await freePort(), await freePort()]
    const text = block(page, index, {
      [publicUrl]: `http://localhost:${port}`,
      "ADMIN_LISTEN=9090": `ADMIN_LISTEN=${adminPort}`,
      ...here
    }).replace("npm ci && npm run build", "")
    const server = start(`tunnel-${page.replaceAll(/\W/g, "-")}`, text, { PORT: String(port) })
    const trigger = () => /curl .*"task".*/.exec(server.output())?.[0]
    await server.until("the server has printed how to trigger it", async () => trigger() !== undefined)
    expect(await shell(`${trigger()} --silent`, {})).toContain(`"response":"${agentAnswer}`)
    const statusOf = async (port: number) => (await fetch(`http://localhost:${port}/webhooks/new`)).status
    expect([await statusOf(port), await statusOf(adminPort)]).toEqual([404, 200])
    await server.stop()
  })

  it("docs/reference/http.md, docs/reference/management.md: triggering the demo webhook, creating one, and replaying runs", async () => {
    const [first, second] = block("docs/reference/http.md", 0).trim().split("\n")
    expect(await shell(first!, { TRIGGER_URL: demoUrl })).toMatch(/^HTTP\/1.1 202 [\s\S]*"accepted"/)
    expect(JSON.parse(await shell(second!, { TRIGGER_URL: demoUrl }))).toMatchObject({
      response: "Say hello to world."
    })
    expect(await shell(block("docs/reference/http.md", 1), { TRIGGER_URL: demoUrl })).toMatch(
      /event: accepted[\s\S]*event: success[\s\S]*Say hello to world\./
    )
    const created = await shell(block("docs/reference/management.md", 0, { "http://localhost:8080": embedded.url }), {})
    expect(JSON.parse(created)).toMatchObject({ webhook: { name: "Deploy", variables: ["app", "env"] } })
    const replayed = await shell(
      block("docs/reference/management.md", 1, { "http://localhost:8080": embedded.url }),
      {}
    )
    expect(JSON.parse(replayed)).toMatchObject({ replayed: [] })
  })

  it("docs/reference/cli.md: a script that creates, triggers and lists", async () => {
    const output = await shell(block("docs/reference/cli.md", 0), { WEBHOOK_TRIGGER_URL: embedded.url })
    expect(output).toMatch(/^Review main\nsuccess\t\d+\n$/)
  })

  it("docs/use/webhooks.md, docs/use/limits.md, docs/use/filters.md: a request with a file, runs that start later and by a schedule, and a webhook that shares another one's URL", async () => {
    writeFileSync(join(folder, "server.log"), "out of memory")
    // The demo webhook has another variable.
    const example = { "http://localhost:8080/webhook/trigger/whk_…": demoUrl, "task=": "name=" }
    expect(await shell(block("docs/use/webhooks.md", 0, example), {})).toContain('"accepted"')
    const variables = { WEBHOOK_TRIGGER_URL: embedded.url }
    await shell("webhook-trigger team create review && webhook-trigger team create triage", variables)
    const later = block("docs/use/limits.md", 0, { '"app":': '"name":', "app=": "name=" })
    const output = await shell(later, { TRIGGER_URL: demoUrl })
    expect(new Set(output.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g))).toHaveProperty("size", 2)
    const scheduled = block("docs/use/limits.md", 1, { "--team ops": "--team review" })
    expect(await shell(scheduled, variables)).toContain("digest")
    expect(await shell(block("docs/use/filters.md", 0), variables)).toContain("pushes")
  })

  it("docs/use/mcp.md, docs/run/access.md: making a webhook a tool, with a key for its assistant", async () => {
    const variables = { WEBHOOK_TRIGGER_URL: embedded.url }
    const edit = block("docs/use/mcp.md", 0, { WEBHOOK: "Deploy" })
    expect(await shell(edit, variables)).toContain("review_pull_request")
    expect(await shell(block("docs/use/mcp.md", 1, { WEBHOOK: "Deploy" }), variables)).toMatch(/whp_/)
    const access = block("docs/run/access.md", 0, { "Review pull requests": "Deploy" })
    expect(await shell(access, variables)).toMatch(/whp_/)
  })

  it("docs/run/deploy.md, docs/start/first-webhook.md, docs/use/agents.md, docs/use/leaders.md: a server on PostgreSQL and RabbitMQ, and leaders", async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const ready = () =>
      fetch(`${url}/health/ready`).then(
        ({ ok }) => ok,
        () => false
      )
    const keys = {
      "ADMIN_API_KEY=…": `ADMIN_API_KEY=${ADMIN_API_KEY}`,
      "SECRETS_KEY=…": `SECRETS_KEY=${"0".repeat(64)}`
    }
    const variables = { PORT: String(port) }

    const settings = block("docs/run/deploy.md", 0, {
      "postgres://webhooks:…@db:5432/webhooks": DATABASE_URL,
      "amqp://webhooks:…@mq:5672/webhooks": AMQP_URL,
      ...keys
    })
    const server = start("production", `set -a\n${settings}\nwebhook-trigger serve`, variables)
    await server.until("the server of docs/run/deploy.md is ready", ready)

    const isLed = async (team: string) =>
      JSON.parse(await shell(`webhook-trigger team show ${team} --json`, { WEBHOOK_TRIGGER_URL: url })).running
    /** Starts a leader, until it has answered a message. */
    const lead = async (name: string, team: string, text: string, expected = "HELLO") => {
      const leader = start(name, text, { WEBHOOK_TRIGGER_URL: url })
      await leader.until(`${team} has a leader`, () => isLed(team).catch(() => false))
      const answer = await shell(`webhook-trigger team message ${team} hello --wait`, { WEBHOOK_TRIGGER_URL: url })
      expect(answer).toBe(`${expected}\n`)
      await leader.stop()
    }
    const [agent, key] = [join(folder, "agent.mjs"), join(folder, "review.key")]
    const [, program = ""] = /```js\n([\s\S]*?)```/.exec(
      readFileSync(join(root, "docs/start/first-webhook.md"), "utf8")
    )!
    writeFileSync(agent, program)
    const places = { "> review.key": `> ${key}`, "--key-file review.key": `--key-file ${key}`, "agent.mjs": agent }
    const ownTeam = block("docs/start/first-webhook.md", 3, { ...places, "http://localhost:8080": url })
    await lead("first", "review", ownTeam, "The prompt has 1 words.")
    await shell("webhook-trigger team create deploy", { WEBHOOK_TRIGGER_URL: url })
    await lead("agent", "review", block("docs/use/agents.md", 1, { "amqp://localhost": AMQP_URL }), agentAnswer)
    await lead("amqp", "deploy", block("docs/use/leaders.md", 0, { "amqp://localhost": AMQP_URL }))
    const file = join(folder, "deploy.url")
    writeFileSync(file, AMQP_URL, { mode: 0o600 })
    const asUser = process.geteuid!() === 0 ? " --user nobody" : ""
    await lead(
      "user",
      "deploy",
      block("docs/use/leaders.md", 1, { "/etc/webhook-trigger/deploy.url": file, " --user agent": asUser })
    )
    await server.stop()
  })

  it("are all run, but for those with a reason", () => {
    const all = pagesWithBlocks().flatMap((page) => blocksOf(page).map((_, index) => `${page} ${index}`))
    const excused = Object.entries(notRun).flatMap(([page, blocks]) =>
      Object.keys(blocks).map((index) => `${page} ${index}`)
    )
    expect([...run, ...excused].sort()).toEqual(all.sort())
  })
})
