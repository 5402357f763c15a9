/** The `support-bundle` command, on a server with all that must not be in the file. */
import { readFileSync, statSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { parseTarGzip } from "nanotar"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { freePort } from "../support/Process.ts"
import { temporaryFolder } from "../support/private.ts"
import * as Program from "./Program.ts"

const read = (file: string) =>
  Effect.promise(async (): Promise<Readonly<Record<string, string>>> => {
    const files = await parseTarGzip(readFileSync(file))
    return Object.fromEntries(files.map(({ name, text }) => [name.replace("support-bundle/", ""), text]))
  })

const withUser = (address: string, user: string, password: string): string => {
  const url = new URL(address)
  ;[url.username, url.password] = [user, password]
  return url.href
}

describe("support-bundle", () => {
  it.live("has what helps, and none of the server's secrets and texts", function* () {
    const secrets = {
      ADMIN_API_KEY: "the-admin-key-of-this-server-0123",
      METRICS_TOKEN: "the-metrics-token-of-this-server",
      SECRETS_KEY: "6e6f2d6f6e652d6b6e6f77732d746869732d6b65792d6f662d6d696e652d3031"
    }
    const closed = yield* Effect.promise(() => freePort())
    const settings = {
      ...secrets,
      DATABASE_URL: yield* freshDatabase,
      AMQP_URL: yield* freshVhost,
      SMTP_URL: `smtp://mailer:mail-password-7@127.0.0.1:${closed}`,
      SMTP_FROM: "alerts@example.com",
      LEADERS: "local=echo --key leader-option-key",
      AGENTS: "",
      RUN_RETENTION: "45 days"
    }
    const server = yield* Program.serve(settings)
    const call = (method: string, path: string, body?: object, key: string = settings.ADMIN_API_KEY) =>
      Effect.promise(
        (): Promise<any> =>
          fetch(`${server.url}${path}`, {
            method,
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            ...(body && { body: JSON.stringify(body) })
          }).then(async (response) => JSON.parse((await response.text()) || "null"))
      )
    yield* call("POST", "/api/teams", { team: "waiting" })
    const { token, webhook } = yield* call("POST", "/api/webhooks", {
      ...{
        name: "name-of-a-webhook",
        team: "waiting",
        when_team_stopped: "queue",
        prompt_template: "prompt-text {{text}} for ada@example.org"
      }
    })
    yield* call("POST", `/webhook/trigger/${token}`, { variables: { text: "value-of-a-caller" } })
    yield* call("POST", "/api/teams/local/messages?wait=true", { message: "answer-of-the-agent" })
    const { key } = yield* call("POST", "/api/keys", { name: "key-name", role: "viewer" })
    const leader = yield* call("POST", "/api/teams/waiting/leader-keys", { name: "laptop" })

    const output = join(yield* temporaryFolder, "bundle.tar.gz")
    const { code, stdout } = yield* Program.run(["support-bundle", "-o", output, "--url", server.url], settings)
    expect(code).toBe(0)
    expect(stdout).toContain("  support-bundle/metrics.txt")
    expect(statSync(output).mode & 0o777).toBe(0o600)
    const files = yield* read(output)

    expect(JSON.parse(files["program.json"]!)).toMatchObject({ version: expect.any(String), node: process.version })
    expect(files["settings.env"]).toContain("RUN_RETENTION=45 days\n")
    expect(files["settings.env"]).toContain("ADMIN_API_KEY=[removed]\n")
    expect(files["settings.env"]).toContain("\nMAX_CONNECTIONS=\n")
    expect(files["doctor.txt"]).toContain("database rights: yes")
    expect(files["doctor.txt"]).toContain("mail server reached: no")
    const state = JSON.parse(files["database.json"]!)
    expect(state.queues).toMatchObject([
      { team: "waiting", status: expect.any(String), runs: 1, oldest: expect.any(String) }
    ])
    expect(state.tick).toMatchObject([{ ticked_at: expect.any(String) }])
    expect(state.migrations).toMatchObject([{ name: "schema" }])
    expect(state.tables.find((each: any) => each.table === "runs").bytes).toBeGreaterThan(0)
    expect(files["health.txt"]).toContain("200 application/json")
    expect(files["metrics.txt"]).toMatch(/^200 .*\n\n[\s\S]*webhook_/)

    const all = Object.values(files).join("\n")
    const forbidden = [
      ...Object.values(secrets),
      ...["mail-password-7", "alerts@example.com", "leader-option-key", token, key, leader.key],
      ...["prompt-text", "ada@example.org", "value-of-a-caller", "answer-of-the-agent", "name-of-a-webhook"],
      ...[settings.DATABASE_URL, settings.AMQP_URL, webhook.token_hint]
    ]
    for (const text of forbidden) expect(all, text).not.toContain(text)
    for (const address of [settings.DATABASE_URL, settings.AMQP_URL]) {
      const { password } = new URL(address)
      if (password.length >= 8) expect(all).not.toContain(password)
    }
  })

  it.live("sends METRICS_TOKEN only for the metrics, and not over plain HTTP to another host", function* () {
    const seen: Array<readonly [path: string | undefined, authorization: string | undefined]> = []
    const server = createServer(({ headers, url }, response) => {
      seen.push([url, headers.authorization])
      response.end("answer")
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => void server.listen(0, "0.0.0.0", resolve))),
      () => Effect.sync(() => server.close())
    )
    const { port } = server.address() as AddressInfo
    const output = join(yield* temporaryFolder, "bundle.tar.gz")
    const METRICS_TOKEN = "the-metrics-token-of-this-server"
    const bundle = (host: string) =>
      Effect.gen(function* () {
        seen.length = 0
        const url = `http://${host}:${port}`
        expect((yield* Program.run(["support-bundle", "-o", output, "--url", url], { METRICS_TOKEN })).code).toBe(0)
        return [[...seen].sort(), (yield* read(output))["metrics.txt"]] as const
      })
    const paths = ["/health/live", "/health/ready", "/metrics"]
    const [local, metrics] = yield* bundle("127.0.0.1")
    expect(local).toEqual(paths.map((path) => [path, path === "/metrics" ? `Bearer ${METRICS_TOKEN}` : undefined]))
    expect(metrics).not.toContain("METRICS_TOKEN")
    // Reaches this machine, but is no address of the loopback.
    const [remote, without] = yield* bundle("0.0.0.0")
    expect(remote).toEqual(paths.map((path) => [path, undefined]))
    expect(without).toContain("METRICS_TOKEN is not sent over plain HTTP to another host.")
  })

  it.live("is written and has no password if one has a bare percent sign", function* () {
    const port = yield* Effect.promise(() => freePort())
    const output = join(yield* temporaryFolder, "bundle.tar.gz")
    const options = ["support-bundle", "-o", output, "--url", `http://localhost:${port}`]
    const DATABASE_URL = `postgres://somebody:100%sure-7@localhost:${port}/hooks`
    expect((yield* Program.run(options, { DATABASE_URL })).code).toBe(0)
    const all = Object.values(yield* read(output)).join("\n")
    for (const secret of ["somebody", "sure-7"]) expect(all).not.toContain(secret)
  })

  it.live("says what could not be read, also without the passwords of addresses", function* () {
    const port = yield* Effect.promise(() => freePort())
    const output = join(yield* temporaryFolder, "bundle.tar.gz")
    const DATABASE_URL = withUser(`postgres://localhost:${port}/hooks`, "somebody", "pass%20word-1")
    const options = ["support-bundle", "-o", output, "--url", `http://localhost:${port}`]
    expect((yield* Program.run(options, { DATABASE_URL })).code).toBe(0)
    const files = yield* read(output)
    expect(files["health.txt"]).toContain("not read: fetch failed")
    expect(files["database.json"]).toContain("not read: ")
    expect(files["doctor.txt"]).toContain("database reached: no")
    const all = Object.values(files).join("\n")
    for (const secret of ["somebody", "word-1", "pass word"]) expect(all).not.toContain(secret)

    const invalid = yield* Program.run(options, { DATABASE_URL: "not-an-address-but-a-password" })
    expect(invalid.code).toBe(0)
    const others = yield* read(output)
    expect(others["doctor.txt"]).toBe("settings are not valid: DATABASE_URL\n")
    expect(Object.values(others).join("\n")).not.toContain("not-an-address-but-a-password")
    expect((yield* Program.run(["support-bundle", "-o", "/none/bundle"])).code).toBe(1)
  })
})
