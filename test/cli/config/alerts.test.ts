/** Alert destinations and alert rules in configuration files. */
import { createServer } from "node:http"
import { join } from "node:path"
import { Ajv } from "ajv"
import { Effect } from "effect"
import { parse } from "yaml"
import { describe, expect, it } from "../../support/It.ts"
import { ADMIN_API_KEY, sharedServer } from "../SharedServer.ts"

const variables = { SLACK_URL: "https://hooks.slack.com/services/T000/B000/XXXXabcd" }
const { address, file, folder, json, run, runAt } = sharedServer({
  settings: { CALLBACK_ALLOW: "127.0.0.1" },
  variables
})
const runAs = (key: string, ...words: ReadonlyArray<string>) => runAt({ ...variables, ADMIN_API_KEY: key }, ...words)

const rules = Effect.suspend(() => json("alert", "rule", "list"))
const destinations = Effect.suspend(() => json("alert", "destination", "list"))

const lines = [
  "teams: [{team: review}]",
  "webhooks: [{name: nightly, team: review, prompt_template: x}]",
  "alert_destinations:",
  "  - description: on call",
  "    kind: slack",
  "    url_env: SLACK_URL",
  "  - description: log",
  "    url: http://127.0.0.1:1/",
  "    events: [alert.firing]",
  "alert_rules:",
  "  - condition: failures_in_a_row",
  "  - condition: cost",
  "    webhook: nightly",
  "    threshold: 2.5",
  "    window_hours: 48",
  "    destinations: [on call]",
  "  - condition: queue_age",
  "    team: review",
  "    threshold: 30"
]

describe("alerts in a configuration file", () => {
  it.live(
    "are created with their webhook and destinations, changed in place, exported without secrets and deleted",
    function* () {
      const path = file("alerts.yaml", ...lines)
      const before = yield* run("diff", "-f", path)
      expect(before.code).toBe(6)
      expect(before.stdout).toContain("+ alert destination on call\n")
      expect(before.stdout).toContain("+ alert rule failures_in_a_row\n    threshold: 3\n")
      expect(before.stdout).toContain(
        '+ alert rule cost of the webhook nightly\n    threshold: 2.5\n    window_hours: 48\n    destinations: ["on call"]\n'
      )
      expect(before.stdout).toContain("+ alert rule queue_age of the team review\n")
      expect(before.stdout).toContain("Plan: 7 to create, 0 to change, 0 to delete, 0 unchanged.")
      expect(yield* rules).toEqual([])

      const applied = yield* run("apply", "-f", path)
      expect([applied.code, applied.stderr]).toEqual([0, ""])
      expect(applied.stdout).toMatch(/alert_destination +log\nid +.*\nsecret +whsec_/)
      expect(applied.stdout).not.toContain(variables.SLACK_URL)
      const [slack, log] = yield* destinations
      expect([slack, log]).toMatchObject([
        { kind: "slack", url: "https://hooks.slack.com/…", events: ["alert.firing", "alert.resolved"] },
        { kind: "webhook", url: "http://127.0.0.1:1/", events: ["alert.firing"] }
      ])
      const webhook = (yield* json("webhook", "list")).data.find(({ name }: { name: string }) => name === "nightly")
      const created = yield* rules
      expect(created).toMatchObject([
        { condition: "failures_in_a_row", threshold: 3, enabled: true },
        { condition: "cost", webhook_id: webhook.id, threshold: 2.5, window_hours: 48, destination_ids: [slack.id] },
        { condition: "queue_age", team: "review", threshold: 30 }
      ])
      expect(created[0].destination_ids).toBeUndefined()
      for (const command of ["diff", "apply"]) {
        const again = yield* run(command, "-f", path)
        expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("No changes: 7 unchanged.")])
      }

      const exported = yield* run("export")
      expect(exported.stdout).not.toContain(variables.SLACK_URL)
      expect(exported.stdout).toContain("# url_env: …    # set, not exported: …abcd")
      const { alert_destinations, alert_rules } = parse(exported.stdout)
      expect(alert_destinations).toEqual([
        { description: "on call", kind: "slack" },
        { description: "log", url: "http://127.0.0.1:1/", events: ["alert.firing"] }
      ])
      expect(alert_rules).toEqual([
        { condition: "failures_in_a_row", threshold: 3 },
        { condition: "cost", webhook: "nightly", threshold: 2.5, window_hours: 48, destinations: ["on call"] },
        { condition: "queue_age", team: "review", threshold: 30 }
      ])
      const isValid = new Ajv({ strict: false, validateFormats: false }).compile(
        JSON.parse((yield* run("schema")).stdout)
      )
      expect(isValid(parse(exported.stdout)), JSON.stringify(isValid.errors)).toBe(true)
      expect(isValid({ alert_rules: [{ condition: "weather" }] })).toBe(false)
      const same = yield* run("diff", "--prune", "-f", file("exported.yaml", exported.stdout))
      expect([same.code, same.stderr]).toEqual([0, ""])
      // Of one webhook only.
      expect((yield* run("export", "nightly")).stdout).not.toContain("alert_")

      const changed = file(
        "alerts.yaml",
        ...lines
          .filter((line) => !line.includes("window_hours"))
          .map((line) => line.replace("[on call]", "[log]").replace("30", "45").replace(":1/", ":2/"))
      )
      const { stdout } = yield* run("diff", "-f", changed)
      expect(stdout).toContain("~ alert destination log\n    url: http://127.0.0.1:1/ → http://127.0.0.1:2/\n")
      expect(stdout).toContain(
        '~ alert rule cost of the webhook nightly\n    window_hours: 48 → 24\n    destinations: ["on call"] → ["log"]\n'
      )
      expect(stdout).toContain("~ alert rule queue_age of the team review\n    threshold: 30 → 45\n")
      const plan = JSON.parse((yield* run("diff", "-f", changed, "--json")).stdout)
      expect(plan.summary).toEqual({ create: 0, change: 3, delete: 0, unchanged: 4 })
      expect(plan.steps.map(({ kind }: { kind: string }) => kind).slice(2)).toEqual([
        ...["alert_destination", "alert_destination", "alert_rule", "alert_rule", "alert_rule"]
      ])
      expect((yield* run("apply", "-f", changed)).code).toBe(0)
      expect(yield* rules).toMatchObject([
        { id: created[0].id },
        { id: created[1].id, window_hours: 24, destination_ids: [log.id] },
        { id: created[2].id, threshold: 45 }
      ])
      expect((yield* destinations)[1]).toMatchObject({ id: log.id, url: "http://127.0.0.1:2/" })

      // To all destinations again. Without `enabled`, a rule that was switched off stays off.
      yield* json("alert", "rule", "disable", created[1].id)
      const toAll = file("alerts.yaml", ...lines.filter((line) => !line.includes("destinations: [")))
      expect((yield* run("apply", "-f", toAll)).code).toBe(0)
      const all = (yield* rules)[1]
      expect([all.destination_ids, all.window_hours, all.enabled]).toEqual([undefined, 48, false])
      expect((yield* run("export")).stdout).toMatch(/window_hours: 48\n +enabled: false\n/)

      const fewer = [...lines.slice(0, 6), ...lines.slice(9, 11)]
      const left = yield* run("diff", "-f", file("fewer.yaml", ...fewer))
      expect(left.code).toBe(0)
      expect(left.stdout).toContain(
        "    alert destination log\n    alert rule cost of the webhook nightly (2.5 US dollars in 48 h)\n    alert rule queue_age of the team review (30 minutes)\n"
      )
      const refused = yield* run("apply", "-f", join(folder(), "fewer.yaml"), "--prune")
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")])
      expect((yield* run("apply", "-f", join(folder(), "fewer.yaml"), "--prune", "--yes")).code).toBe(0)
      expect((yield* rules).map(({ id }: { id: string }) => id)).toEqual([created[0].id])
      expect((yield* destinations).map(({ id }: { id: string }) => id)).toEqual([slack.id])
      // A file without a list deletes nothing of its kind.
      expect((yield* run("diff", "-f", file("teams.yaml", lines[0]!), "--prune")).code).toBe(0)
      expect((yield* run("apply", "-f", file("none.yaml", "alert_rules: []"), "--prune", "--yes")).code).toBe(0)
      expect(yield* rules).toEqual([])
      expect(yield* destinations).toHaveLength(1)
    }
  )

  it.live("of the same condition and scope are matched by equal settings first, and then in order", function* () {
    const of = (...thresholds: ReadonlyArray<number>) =>
      file("alike.yaml", "alert_rules:", ...thresholds.map((one) => `  - {condition: latency, threshold: ${one}}`))
    expect((yield* run("apply", "-f", of(60, 300))).code).toBe(0)
    const [first, second] = yield* rules
    expect((yield* run("diff", "-f", of(300, 60))).code).toBe(0)
    const diff = yield* run("diff", "-f", of(300, 90))
    expect(diff.stdout).toContain(
      "~ alert rule latency\n    threshold: 60 → 90\n    matched by order: 2 rules on the server have this condition and scope\n"
    )
    expect((yield* run("apply", "-f", of(300, 90))).code).toBe(0)
    expect(yield* rules).toMatchObject([
      { id: first.id, threshold: 90 },
      { id: second.id, threshold: 300 }
    ])
    const fewer = yield* run("diff", "-f", of(300))
    expect([fewer.code, fewer.stdout]).toEqual([0, expect.stringContaining("alert rule latency (90 seconds in 1 h)")])
    const twice = yield* run("diff", "-f", of(300, 300))
    expect([twice.code, twice.stderr]).toEqual([
      2,
      expect.stringContaining("alike.yaml:3  alert_rules[1] is listed twice")
    ])
    expect((yield* run("apply", "-f", file("alike.yaml", "alert_rules: []"), "--prune", "--yes")).code).toBe(0)
  })

  it.live("are refused with file, line and field, and nothing is changed", function* () {
    yield* json("team", "create", "twins")
    const twin = ["--name", "twin", "--team", "twins", "--template", "x"]
    yield* json("webhook", "create", ...twin)
    yield* json("webhook", "create", ...twin)
    const before = yield* rules
    const refused = (...lines: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const { code, stderr } = yield* run("apply", "-f", file("wrong.yaml", ...lines))
        expect(code).toBe(2)
        expect(yield* rules).toEqual(before)
        return stderr
      })
    const good = "  - condition: no_run"
    expect(
      yield* refused(
        ...["alert_rules:", good, "  - condition: weather", "    treshold: 1"],
        ...["alert_destinations:", "  - url: http://127.0.0.1:1/", "    token: x"]
      )
    ).toMatch(
      /wrong\.yaml:3 {2}alert_rules\[1\]\.condition .*\n {2}wrong\.yaml:4 {2}alert_rules\[1\]\.treshold .*did you mean threshold\?\n {2}wrong\.yaml:7 {2}alert_destinations\[0\]\.token must not be in a file; use token_env/
    )
    expect(
      yield* refused(
        ...["alert_rules:", good, "  - {condition: no_leader, webhook: twin}"],
        ...["  - condition: budget", "    threshold: 200", "    window_hours: 3"]
      )
    ).toBe(
      [
        "Wrong usage: the configuration is invalid",
        "  wrong.yaml:3  alert_rules[1].webhook cannot be set for no_leader, which covers teams",
        "  wrong.yaml:5  alert_rules[2].threshold must be a whole number from 1 to 100",
        "  wrong.yaml:6  alert_rules[2].window_hours is not a field of budget",
        ""
      ].join("\n")
    )
    const told = yield* refused(
      ...["alert_rules:", good, "  - condition: cost", "    webhook: nobody"],
      ...["  - condition: cost", "    webhook: twin", "  - condition: cost", "    team: nobody"],
      ...["    destinations: [nowhere]"]
    )
    expect(told).toContain('wrong.yaml:4  alert_rules[1].webhook does not exist: "nobody"')
    expect(told).toMatch(/wrong\.yaml:6 {2}alert_rules\[2\]\.webhook matches several; use the ID of one: \S+, \S+\n/)
    expect(told).toContain("wrong.yaml:8  alert_rules[3].team does not exist")
    expect(told).toContain('alert_rules[3].destinations[0] does not exist: "nowhere"')
    // What only the server knows.
    const ofServer = yield* refused(
      ...["alert_destinations:", "  - url: http://10.0.0.1/", "  - kind: callback", "    url: https://example.com/"]
    )
    expect(ofServer).toMatch(/wrong\.yaml:2 {2}alert_destinations\[0\]\.url /)
    expect(ofServer).toMatch(/wrong\.yaml:3 {2}alert_destinations\[1\]\.kind is not available for alerts/)
    expect(yield* destinations).toHaveLength(1)
  })

  it.live("need a key for all teams, and one with the role editor to be changed", function* () {
    const keyOf = (...options: ReadonlyArray<string>) =>
      Effect.map(json("key", "create", "--name", "k", ...options), ({ key }) => key as string)
    const path = file("key.yaml", "alert_rules: [{condition: no_run}]")
    yield* json("team", "create", "limited")
    const limited = yield* keyOf("--role", "editor", "--teams", "limited")
    for (const command of ["diff", "apply"]) {
      const refused = yield* runAs(limited, command, "-f", path)
      expect([refused.code, refused.stderr]).toEqual([
        1,
        "The key's role or teams do not allow this: `alert_destinations` and `alert_rules` need access to all teams. Yours is limited to certain teams.\n"
      ])
    }
    const exported = yield* runAs(limited, "export")
    expect(exported.code).toBe(0)
    expect(exported.stderr).toMatch(/^alert_destinations and alert_rules were not exported: /)
    expect(exported.stdout).not.toContain("alert_")
    expect((yield* runAs(limited, "diff", "-f", file("limited.yaml", exported.stdout))).code).toBe(0)

    const viewer = yield* keyOf("--role", "viewer")
    expect((yield* runAs(viewer, "diff", "-f", path)).code).toBe(6)
    const refused = yield* runAs(viewer, "apply", "-f", path)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("needs the role `editor`")])
    expect(yield* rules).toEqual([])
  })

  it.live("are not overwritten if they were edited since the comparison", function* () {
    expect((yield* run("apply", "-f", file("old.yaml", "alert_rules: [{condition: no_run}]"))).code).toBe(0)
    const [{ id }] = yield* rules
    const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }
    const edit = { method: "PATCH", headers, body: '{"threshold": 7}' }
    // A person edits the rule once the command has compared it.
    const proxy = createServer(async (request, response) => {
      const chunks: Array<Uint8Array> = []
      for await (const chunk of request) chunks.push(chunk)
      const ifMatch = request.headers["if-match"]
      if (ifMatch !== undefined) await fetch(`${address()}/api/alerts/rules/${id}`, edit)
      const answer = await fetch(address() + request.url, {
        method: request.method!,
        headers: { ...headers, ...(ifMatch && { "if-match": ifMatch }) },
        body: Buffer.concat(chunks)
      })
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
      response.end(await answer.text())
    })
    yield* Effect.promise(() => new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve)))
    const { port } = proxy.address() as { port: number }
    const words = ["apply", "-f", file("prune.yaml", "alert_rules: []"), "--prune", "--yes"]
    const refused = yield* runAt({ WEBHOOK_TRIGGER_URL: `http://127.0.0.1:${port}` }, ...words)
    proxy.close()
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "The server was edited since the comparison: nothing was changed; run the command again\n"
    ])
    expect(yield* rules).toMatchObject([{ id, threshold: 7 }])
  })
})
