/** The server's limits in configuration files, and the order in which they are applied. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { ADMIN_API_KEY, sharedServer } from "../SharedServer.ts"

const {
  address,
  file: fileNamed,
  json,
  run,
  runAt: runWithVariables
} = sharedServer({ settings: { CALLBACK_ALLOW: "127.0.0.1" } })
const runAt = (WEBHOOK_TRIGGER_URL: string, ...words: ReadonlyArray<string>) =>
  runWithVariables({ WEBHOOK_TRIGGER_URL }, ...words)
const file = (...lines: ReadonlyArray<string>) => fileNamed("limits.yaml", ...lines)

const rules = Effect.suspend(() => json("alert", "rule", "list"))
const alertDestinations = Effect.suspend(() => json("alert", "destination", "list"))
const destinationsOf = (webhook: string) => json("destination", "list", webhook)

/** Loses the connection of each change. */
const losing = Effect.acquireRelease(
  Effect.promise(async () => {
    const proxy = createServer(async (request, response) => {
      const chunks: Array<Uint8Array> = []
      for await (const chunk of request) chunks.push(chunk)
      if (request.headers["if-match"] !== undefined) return void request.socket.destroy()
      const answer = await fetch(address() + request.url, {
        method: request.method!,
        headers: { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" },
        body: Buffer.concat(chunks)
      })
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
      response.end(await answer.text())
    })
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
    const { port } = proxy.address() as AddressInfo
    return { close: () => proxy.close(), url: `http://127.0.0.1:${port}` }
  }),
  ({ close }) => Effect.sync(close)
)

/** With descriptions: `new 1`, `new 2` and so on. */
const destinations = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `  - {description: ${name} ${at + 1}, url: "http://127.0.0.1:1/"}`)
const alike = (condition: string, count: number) =>
  Array.from({ length: count }, (_, at) => `  - {condition: ${condition}, threshold: ${at + 1}}`)

const prune = ["--prune", "--yes"]
const none = ["alert_destinations: []", "alert_rules: []"]
const old = ["alert_destinations:", ...destinations("old", 2), "alert_rules:", ...alike("latency", 2)]

const applied = (...lines: ReadonlyArray<string>) => json("apply", "-f", file(...lines), ...prune)

const names = (all: ReadonlyArray<{ readonly description: string }>) => all.map(({ description }) => description)

describe("the limits of a server", () => {
  it.live("let files replace alert destinations", function* () {
    yield* applied(...old)
    const path = file("alert_destinations:", ...destinations("new", 19), "alert_rules:", ...alike("queue_age", 1))
    const { code, stderr } = yield* run("apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(names(yield* alertDestinations)).toEqual(Array.from({ length: 19 }, (_, at) => `new ${at + 1}`))
    expect(yield* rules).toMatchObject([{ condition: "queue_age" }])
    yield* applied(...none)
  })

  it.live("and a connection that is lost on the way leave the old rules and destinations in place", function* () {
    yield* applied(...old)
    const before = [yield* rules, names(yield* alertDestinations)]
    const { url } = yield* losing
    const path = file("alert_destinations:", ...destinations("new", 1), "alert_rules:", ...alike("queue_age", 1))
    const lost = yield* runAt(url, "apply", "-f", path, ...prune)
    expect(lost.code).toBe(3)
    expect([yield* rules, names(yield* alertDestinations)]).toEqual(before)
    // The next attempt does it.
    yield* json("apply", "-f", path, ...prune)
    expect(yield* rules).toMatchObject([{ condition: "queue_age" }])
    expect(names(yield* alertDestinations)).toEqual(["new 1"])
    yield* applied(...none)
  })

  it.live("let files replace a rule among the most that there may be", function* () {
    yield* applied("alert_rules:", ...alike("latency", 200))
    const path = file("alert_rules:", ...alike("latency", 199), ...alike("queue_age", 1))
    const { code, stderr } = yield* run("apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(yield* rules).toHaveLength(200)
    yield* applied(...none)
  })

  it.live("delete a webhook after its rules, and a team after its webhooks", function* () {
    const webhook = "{name: leaving, team: leaving, prompt_template: x}"
    yield* json(
      ...["apply", "-f"],
      file("teams: [{team: leaving}]", `webhooks: [${webhook}]`, "alert_rules: [{condition: cost, webhook: leaving}]")
    )
    const exported = yield* run("export", "demo")
    const path = file(exported.stdout, ...none)
    const { code, stderr } = yield* run("apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(yield* rules).toEqual([])
    expect((yield* json("webhook", "list")).data.map(({ name }: { name: string }) => name)).not.toContain("leaving")
    expect((yield* json("team", "list")).data.map(({ team }: { team: string }) => team)).not.toContain("leaving")
  })

  it.live("let files replace the destinations of a webhook, and a chain by another to the same webhook", function* () {
    const webhook = (name: string, ...destinations: ReadonlyArray<string>) => [
      ...["webhooks:", `  - {name: ${name}, team: demo, prompt_template: x, destinations: [`],
      ...destinations.map((line) => `      ${line.replace(/^ +- /, "")},`),
      "    ]}"
    ]
    yield* json("apply", "-f", file(...webhook("target")))
    const { id } = (yield* json("webhook", "list")).data.find(({ name }: { name: string }) => name === "target")
    const chain = (name: string) => `{description: ${name}, kind: chain, target: ${id}}`
    yield* json("apply", "-f", file(...webhook("full", chain("chain"), ...destinations("old", 19))))
    const { stdout } = yield* run("export")
    expect(stdout).toContain("description: old 19")
    const path = file(stdout.replaceAll("description: old", "description: new").replace(": chain\n", ": renamed\n"))
    const { code, stderr } = yield* run("apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    const all = yield* destinationsOf("full")
    expect(names(all)).toEqual(["renamed", ...Array.from({ length: 19 }, (_, at) => `new ${at + 1}`)])

    const refused = (...lines: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const { code, stderr } = yield* run("apply", "-f", file(...lines))
        expect(code).toBe(2)
        expect(yield* destinationsOf("full")).toEqual(all)
        return stderr
      })
    const told = yield* refused(...webhook("full", ...destinations("more", 1)))
    expect(told).toContain(
      "limits.yaml:3  webhooks[0].destinations[0] exceeds the limit of 20 destinations; 20 others stay: delete them, or prune\n"
    )
    const four = ["one", "two", "three", "four"].map((name) => `  - {name: ${name}, team: demo, prompt_template: x}`)
    yield* json("apply", "-f", file("webhooks:", ...four))
    const others = (yield* json("webhook", "list")).data.slice(0, 4).map((one: { id: string }) => one.id)
    const chainTo = (name: string, target: string) => `{description: ${name}, kind: chain, target: ${target}}`
    const chains = others.map((target: string, at: number) => chainTo(`chain ${at}`, target))
    expect(yield* refused(...webhook("new", ...chains))).toContain(
      "limits.yaml:6  webhooks[0].destinations[3].kind chain: there may be at most 3 of a webhook\n"
    )
    expect(yield* refused(...webhook("new", chainTo("a", others[0]), chainTo("b", others[0])))).toContain(
      "limits.yaml:4  webhooks[0].destinations[1].target is already started by another destination of this webhook\n"
    )
    const tooMany = yield* refused(...webhook("new", ...destinations("new", 21)))
    expect(tooMany).toContain("webhooks[0].destinations[20] exceeds the limit of 20 destinations\n")
  })

  it.live("refuse too many alert destinations and rules before the first change, and say what to do", function* () {
    yield* applied(...old)
    const many = ["alert_destinations:", ...destinations("new", 19), "alert_rules:", ...alike("queue_age", 199)]
    for (const command of ["apply", "diff"]) {
      const { code, stderr } = yield* run(command, "-f", file("teams: [{team: another}]", ...many))
      expect([code, stderr]).toEqual([
        2,
        [
          "Wrong usage: the configuration is invalid",
          "  limits.yaml:21  alert_destinations[18] exceeds the limit of 20 destinations; 2 others stay: delete them, or prune",
          "  limits.yaml:221  alert_rules[198] exceeds the limit of 200 rules; 2 others stay: delete them, or prune",
          ""
        ].join("\n")
      ])
    }
    const tooMany = file("alert_destinations:", ...destinations("new", 21), "alert_rules:", ...alike("queue_age", 201))
    const refused = yield* run("apply", "-f", tooMany, ...prune)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("alert_destinations[20] exceeds the limit of 20 destinations\n")
    expect(refused.stderr).toContain("alert_rules[200] exceeds the limit of 200 rules\n")
  })
})
