/** The package as its users get it: packed, installed as in the guide, with the guide's examples compiled and run. */
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { freePort, startDaemon, untilReady } from "../support/Process.ts"
import { until } from "../support/Until.ts"
import { makeProject, type Project, root } from "./Project.ts"

/** A host made of the guide's parts. */
const composed = (parts: { readonly imports: string; readonly renderer: string; readonly settings: string }) => `
import { NodeRuntime } from "@effect/platform-node"
import { Layer, Redacted } from "effect"
import { AdminKey, Engine, Limiter, NodeServer, Renderer, Routes, Settings } from "webhook-trigger"
import { retention } from "./retention.js"
${parts.imports}
const host = NodeServer.serve(Layer.merge(Routes.trigger, Routes.management), { port: Number(process.env.PORT) }).pipe(
  Layer.provide(Layer.merge(Engine.layer, retention)),
  Layer.provide([Limiter.layer, ${parts.renderer}, AdminKey.layerGiven(Redacted.make(process.env.ADMIN_API_KEY!))]),
  Layer.provide([repo, bus]),
  Layer.provide(${parts.settings})
)
NodeRuntime.runMain(Layer.launch(host))
`

const files = {
  "on-pglite.ts": composed({
    imports: `import { layer as bus } from "./agent-bus.js"
import { repo } from "./embedded.js"
import * as Own from "./own-renderer.js"
import { settings } from "./settings.js"`,
    renderer: "Own.layer",
    settings: "settings"
  }),
  "on-own-sql.ts": composed({
    imports: `import { bus } from "./embedded.js"
import { repo } from "./own-sql.js"`,
    renderer: "Renderer.layer",
    settings: "Settings.layer({ maxConcurrent: 50 })"
  })
}

const adminKey = "the-host's-admin-key"

/** Requests to a running host. */
const client = (url: string) => {
  const send = (method: string, path: string, body?: unknown) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
  const json = async (method: string, path: string, body?: unknown): Promise<any> =>
    (await send(method, path, body)).json()
  return {
    send,
    json,
    /** Creates a team and a webhook for it. Returns the path of its trigger. */
    webhookFor: async (team: string) => {
      await json("POST", "/api/teams", { team })
      const { token, webhook } = await json("POST", "/api/webhooks", { name: "say", team, prompt_template: "{{text}}" })
      return { id: webhook.id as string, token: token as string, path: `/webhook/trigger/${token}` }
    }
  }
}

const variables = { variables: { text: "hi" } }

describe("the package", () => {
  let project: Project
  let scope: Scope.Closeable
  beforeAll(async () => {
    scope = await Effect.runPromise(Scope.make())
    project = await makeProject(files)
  }, 300_000)
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await project?.remove()
  })

  const fresh = (resource: Effect.Effect<string, never, Scope.Scope>) =>
    Effect.runPromise(Scope.provide(resource, scope))

  /** Starts a compiled host. It answers once this resolves, and stops in order with `host.stop()`. */
  const startHost = async (file: string, env: Readonly<Record<string, string>> = {}) => {
    const port = await freePort()
    const host = project.start(file, { PORT: String(port), ADMIN_API_KEY: adminKey, ...env })
    const api = client(`http://127.0.0.1:${port}`)
    await until(
      `${file} answers`,
      () =>
        host.alive()
          ? api.send("GET", "/api/teams").then(
              ({ ok }) => ok,
              () => false
            )
          : Promise.reject(new Error(`${file} has ended`)),
      90_000,
      100
    )
    return { ...api, host }
  }

  describe("has types for the guide's examples, and inferred types of all exports", () => {
    it("in today's TypeScript", async () => {
      expect(await project.compile()).toBe("")
    })

    it("in TypeScript 5.9", async () => {
      expect(await project.complaints("typescript-5.9")).toBe("")
    })
  })

  it("has no fault that publint or attw finds", async () => {
    await project.run(join(root, "node_modules/.bin/publint"), "--strict", project.tarball)
    await project.run(join(root, "node_modules/.bin/attw"), "--profile", "esm-only", project.tarball)
  })

  it("has a command whose process is the server, and which stops in order at SIGTERM", async () => {
    const dir = mkdtempSync(join(project.dir, "served-"))
    const port = await freePort()
    const server = startDaemon(dir, join(project.dir, "node_modules/.bin/webhook-trigger"), ["serve"], {
      cwd: dir,
      env: { PATH: process.env.PATH, DATABASE_URL: await fresh(freshDatabase), PORT: String(port) }
    })
    const ask = () => fetch(`http://127.0.0.1:${port}/health/live`)
    await untilReady(dir, server, 60_000, ask)
    server.signal("SIGTERM")
    await server.exited
    await expect(ask()).rejects.toThrow("fetch failed")
    expect(() => process.kill(-server.pid, 0)).toThrow("ESRCH")
  })

  it("contains the pages that its pages link to", () => {
    const docs = join(project.installed, "docs")
    const pages = readdirSync(docs, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"))
    const broken = pages.flatMap((page) =>
      [...readFileSync(join(docs, page), "utf8").matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)]
        .map(([, target]) => target!)
        .filter((target) => !existsSync(join(docs, dirname(page), target)))
        .map((target) => `${page}: ${target}`)
    )
    expect(pages).toContain("internals/embedding.md")
    expect(broken).toEqual([])
  })

  it("says of files that it does not contain that they are in the repository", () => {
    const docs = join(project.installed, "docs")
    const unclear = readdirSync(docs, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .filter((name) => {
        const text = readFileSync(join(docs, name), "utf8")
        return /`test\//.test(text) && !/\brepository\b/.test(text)
      })
    expect(unclear).toEqual([])
  })

  describe("runs the guide's", () => {
    beforeAll(async () => {
      expect(await project.compile()).toBe("")
    })

    it("whole host and leader, which answer a caller that waits while the host stops", async () => {
      const AMQP_URL = await fresh(freshVhost)
      const { host, json, send, webhookFor } = await startHost("main", {
        DATABASE_URL: await fresh(freshDatabase),
        AMQP_URL
      })
      expect(await (await send("GET", "/hello")).text()).toBe("Hello from the host")
      const webhook = await webhookFor("deploy")
      const leader = project.start("leader", { AMQP_URL })
      await until("the team runs", async () => (await json("GET", "/api/teams/deploy")).running)
      expect(await json("POST", `${webhook.path}?wait=true`, variables)).toMatchObject({ response: "HI" })

      leader.signal("SIGSTOP")
      const waiting = json("POST", `${webhook.path}?wait=true`, variables)
      await until(
        "the second run is with the leader",
        async () => (await json("GET", `/api/webhooks/${webhook.id}/runs`)).data[0].status === "running"
      )
      host.signal("SIGTERM")
      await until("the host accepts nothing", async () => (await send("POST", webhook.path, variables)).status === 503)
      leader.signal("SIGCONT")
      expect(await waiting).toMatchObject({ status: "success", response: "HI" })
      await host.exited
      expect(host.output()).toContain("webhook/trigger/:token")
      expect(host.output()).not.toContain(webhook.token)
      await leader.stop()
    })

    it("embedded database, own bus, own renderer, retention and source of settings", async () => {
      const { host, json, send, webhookFor } = await startHost("on-pglite")
      const { id, path } = await webhookFor("agents")
      const accepted = await send("POST", path, variables)
      expect(accepted.status).toBe(202)
      const { run_id } = (await accepted.json()) as any
      expect(accepted.headers.get("location")).toBe(`${path}/runs/${run_id}`)
      expect(await json("POST", `${path}?wait=true`, variables)).toMatchObject({ response: "HI\nANSWER IN ENGLISH." })
      // From the source of settings.
      expect(await json("GET", `/api/webhooks/${id}/statistics?range=24h`)).toMatchObject({ limit: 50 })
      await host.stop()
    })

    it("own SqlClient, with leaders in the same process", async () => {
      const { host, json, webhookFor } = await startHost("on-own-sql", { DATABASE_URL: await fresh(freshDatabase) })
      const { path } = await webhookFor("agents")
      expect(await json("POST", `${path}?wait=true`, variables)).toMatchObject({ response: "You said: hi" })
      await host.stop()
    })

    it("tests", async () => {
      const vitest = join(project.dir, "node_modules/vitest/vitest.mjs")
      await project.run(
        process.execPath,
        vitest,
        "run",
        "--reporter=json",
        "--outputFile=report.json",
        // Vitest's own 5 s are short compared with the rest of this run.
        "--testTimeout=120000",
        "app.test.ts"
      )
      expect(JSON.parse(readFileSync(join(project.dir, "report.json"), "utf8"))).toMatchObject({
        numPassedTests: 1,
        numTotalTests: 1
      })
    })
  })
})
