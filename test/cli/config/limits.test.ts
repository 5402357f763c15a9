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

/** The changes that reach the server, such as `POST rules`. The connection is lost at `lost`. */
const recorder = (lost?: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const changes: Array<string> = []
      const proxy = createServer(async (request, response) => {
        const chunks: Array<Uint8Array> = []
        for await (const chunk of request) chunks.push(chunk)
        const kind = /\/(rules|destinations|webhooks|teams)(\/[^/]+)?$/.exec(request.url!)?.[1]
        const change = `${request.method} ${kind}`
        if (change === lost) return void request.socket.destroy()
        if (kind !== undefined && request.method !== "GET" && !request.url!.endsWith("/check")) changes.push(change)
        const ifMatch = request.headers["if-match"]
        const answer = await fetch(address() + request.url, {
          method: request.method!,
          headers: {
            ...{ authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" },
            ...(ifMatch && { "if-match": ifMatch })
          },
          ...(chunks.length > 0 && { body: Buffer.concat(chunks) })
        })
        response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
        response.end(await answer.text())
      })
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
      const { port } = proxy.address() as AddressInfo
      return { changes, close: () => proxy.close(), url: `http://127.0.0.1:${port}` }
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

const times = <A>(count: number, change: A): ReadonlyArray<A> => Array.from({ length: count }, () => change)

const names = (all: ReadonlyArray<{ readonly description: string }>) => all.map(({ description }) => description)

describe("the limits of a server", () => {
  it.live("let files replace alert destinations: only as many as necessary are deleted before the rest", function* () {
    yield* applied(...old)
    const { changes, url } = yield* recorder()
    const path = file("alert_destinations:", ...destinations("new", 19), "alert_rules:", ...alike("queue_age", 1))
    const { code, stderr } = yield* runAt(url, "apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(changes).toEqual([
      ...times(18, "POST destinations"),
      ...["DELETE destinations", "POST destinations"],
      ...["POST rules", "DELETE rules", "DELETE rules"],
      "DELETE destinations"
    ])
    expect(names(yield* alertDestinations)).toEqual(Array.from({ length: 19 }, (_, at) => `new ${at + 1}`))
    expect(yield* rules).toMatchObject([{ condition: "queue_age" }])
    yield* applied(...none)
  })

  it.live("and a connection that is lost on the way leave the old rules and destinations in place", function* () {
    yield* applied(...old)
    const before = [yield* rules, names(yield* alertDestinations)]
    const { url } = yield* recorder("POST rules")
    const path = file("alert_destinations:", ...destinations("new", 1), "alert_rules:", ...alike("queue_age", 1))
    const lost = yield* runAt(url, "apply", "-f", path, ...prune)
    expect(lost.code).toBe(3)
    expect([yield* rules, names(yield* alertDestinations)]).toEqual([before[0], [...before[1], "new 1"]])
    // The next attempt does the rest.
    yield* json("apply", "-f", path, ...prune)
    expect(yield* rules).toMatchObject([{ condition: "queue_age" }])
    expect(names(yield* alertDestinations)).toEqual(["new 1"])
    yield* applied(...none)
  })

  it.live("let files replace a rule among the most that there may be", function* () {
    yield* applied("alert_rules:", ...alike("latency", 200))
    const { changes, url } = yield* recorder()
    const path = file("alert_rules:", ...alike("latency", 199), ...alike("queue_age", 1))
    const { code, stderr } = yield* runAt(url, "apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(changes).toEqual(["DELETE rules", "POST rules"])
    expect(yield* rules).toHaveLength(200)
    yield* applied(...none)
  })

  it.live("delete a webhook after its rules, and a team after its webhooks", function* () {
    const webhook = "{name: leaving, team: leaving, prompt_template: x}"
    yield* json(
      ...["apply", "-f"],
      file("teams: [{team: leaving}]", `webhooks: [${webhook}]`, "alert_rules: [{condition: cost, webhook: leaving}]")
    )
    const { changes, url } = yield* recorder()
    const exported = yield* run("export", "demo")
    const path = file(exported.stdout, ...none)
    const { code, stderr } = yield* runAt(url, "apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(changes).toEqual(["DELETE rules", "DELETE webhooks", "DELETE teams"])
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
    const { changes, url } = yield* recorder()
    const { stdout } = yield* run("export")
    expect(stdout).toContain("description: old 19")
    const path = file(stdout.replaceAll("description: old", "description: new").replace(": chain\n", ": renamed\n"))
    const { code, stderr } = yield* runAt(url, "apply", "-f", path, ...prune)
    expect([code, stderr]).toEqual([0, ""])
    expect(changes).toEqual(times(20, ["DELETE destinations", "POST destinations"]).flat())
    const all = yield* destinationsOf("full")
    expect(names(all)).toEqual(["renamed", ...Array.from({ length: 19 }, (_, at) => `new ${at + 1}`)])

    const refused = (...lines: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const { code, stderr } = yield* run("apply", "-f", file(...lines))
        expect(code).toBe(2)
        expect(yield* destinationsOf("full")).toEqual(all)
        return stderr
      })
    // IDs end in a random digit, and no other target may be this webhook.
    const digits = [..."0123"].filter((digit) => !id.endsWith(digit)).slice(0, 3)
    const others = digits.map((digit) => `{kind: chain, target: ${id.slice(0, -1)}${digit}}`)
    const told = yield* refused(...webhook("full", ...others, chain("again")))
    expect(told).toContain(
      "limits.yaml:3  webhooks[0].destinations[0] exceeds the limit of 20 destinations; 20 on the server are in no file: delete them, or use --prune\n"
    )
    expect(told).toContain(
      "limits.yaml:5  webhooks[0].destinations[2] exceeds the limit of 3 chains; 1 on the server are in no file: delete them, or use --prune\n"
    )
    expect(told).toContain(
      "limits.yaml:6  webhooks[0].destinations[3].target is already started by another destination of this webhook; "
    )
    const tooMany = yield* refused(...webhook("new", ...destinations("new", 21)))
    expect(tooMany).toContain("webhooks[0].destinations[20] exceeds the limit of 20 destinations\n")
  })

  it.live("refuse too many alert destinations and rules before the first change, and say what to do", function* () {
    yield* applied(...old)
    const { changes, url } = yield* recorder()
    const many = ["alert_destinations:", ...destinations("new", 19), "alert_rules:", ...alike("queue_age", 199)]
    for (const command of ["apply", "diff"]) {
      const { code, stderr } = yield* runAt(url, command, "-f", file("teams: [{team: another}]", ...many))
      expect([code, stderr]).toEqual([
        2,
        [
          "Wrong usage: the configuration is invalid",
          "  limits.yaml:21  alert_destinations[18] exceeds the limit of 20 destinations; 2 on the server are in no file: delete them, or use --prune",
          "  limits.yaml:221  alert_rules[198] exceeds the limit of 200 rules; 2 on the server are in no file: delete them, or use --prune",
          ""
        ].join("\n")
      ])
    }
    const tooMany = file("alert_destinations:", ...destinations("new", 21), "alert_rules:", ...alike("queue_age", 201))
    const refused = yield* runAt(url, "apply", "-f", tooMany, ...prune)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("alert_destinations[20] exceeds the limit of 20 destinations\n")
    expect(refused.stderr).toContain("alert_rules[200] exceeds the limit of 200 rules\n")
    expect(changes).toEqual([])
  })
})
