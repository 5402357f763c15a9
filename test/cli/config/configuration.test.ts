/** Configuration as code: `diff`, `apply` and `export`. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { Ajv } from "ajv"
import { Effect } from "effect"
import { parse } from "yaml"
import { describe, expect, it } from "../../support/It.ts"
import * as Program from "../Program.ts"
import { ADMIN_API_KEY, sharedServer } from "../SharedServer.ts"

const secrets = {
  GITHUB_SECRET: "0123456789abcdefghij",
  SLACK_URL: "https://hooks.slack.com/services/T000/B000/XXXXabcd"
}

const { address, file, folder, json, run, runAt } = sharedServer({
  settings: { CALLBACK_ALLOW: "127.0.0.1" },
  variables: secrets
})

const webhookNamed = (name: string) =>
  Effect.map(json("webhook", "list"), ({ data }) => data.find((one: { name: string }) => one.name === name))

// In this order: each test goes on with what the one before has applied, as users do.
describe("configuration as code", { shuffle: false }, () => {
  it.live(
    "creates what files have, shows each change with old and new value, and then has nothing to change",
    function* () {
      const lines = [
        "teams:",
        "  - team: code",
        "webhooks:",
        "  - name: pull requests",
        "    team: code",
        "    max_cost_per_day: 5",
        '    thread_key: "{{repo}}#{{number}}"',
        "    verification: {preset: github}",
        "    secret_env: GITHUB_SECRET",
        "    prompt_template: |",
        "      Review {{repo}}#{{number}}.",
        "      Be brief.",
        "    destinations:",
        "      - description: CI",
        "        url: http://127.0.0.1:1/",
        "        headers_env: {X-Key: GITHUB_SECRET}",
        "      - kind: slack",
        "        url_env: SLACK_URL"
      ]
      const path = file("code.yaml", ...lines)
      const before = yield* run("diff", "-f", path)
      expect(before.code).toBe(6)
      expect(before.stdout).toContain("+ team code")
      expect(before.stdout).toContain("+ webhook pull requests")
      expect(before.stdout).toContain("Plan: 4 to create, 0 to change, 0 to delete, 0 unchanged.")
      expect(yield* webhookNamed("pull requests")).toBeUndefined()

      const applied = yield* run("apply", "-f", path)
      expect([applied.code, applied.stderr]).toEqual([0, ""])
      expect(applied.stdout).toMatch(/shown only once:[\s\S]*token +whk_\w+\n[\s\S]*secret +whsec_/)
      for (const text of Object.values(secrets)) expect(applied.stdout).not.toContain(text)
      const created = yield* webhookNamed("pull requests")
      expect(created).toMatchObject({
        ...{ team: "code", max_cost_per_day: 5, verification: { preset: "github" }, secret_hint: "…ghij" },
        prompt_template: "Review {{repo}}#{{number}}.\nBe brief.\n"
      })
      const destinations = yield* json("destination", "list", "pull requests")
      expect(destinations.map(({ kind, url, header_names }: any) => [kind, url, header_names])).toEqual([
        ["webhook", "http://127.0.0.1:1/", ["X-Key"]],
        ["slack", "https://hooks.slack.com/…", []]
      ])

      for (const command of ["diff", "apply"]) {
        const again = yield* run(command, "-f", path)
        expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("No changes: 4 unchanged.")])
      }
      expect((yield* webhookNamed("pull requests")).version).toBe(created.version)
      // Also where the secrets cannot be read, as for a pull request from outside.
      const outside = yield* runAt({}, "diff", "-f", path)
      expect([outside.code, outside.stdout]).toEqual([0, expect.stringContaining("GITHUB_SECRET is not set")])

      const changed = file(
        "code.yaml",
        ...lines
          .filter((line) => !line.includes("thread_key"))
          .map((line) => line.replace("day: 5", "day: 7.5").replace("brief", "thorough").replace(":1/", ":2/"))
      )
      const { stdout } = yield* run("diff", "-f", changed)
      expect(stdout).toContain("~ webhook pull requests")
      expect(stdout).toContain("    max_cost_per_day: 5 → 7.5\n")
      expect(stdout).toContain("    thread_key: {{repo}}#{{number}} → not set\n")
      expect(stdout).toMatch(/-Be brief\.\n +\+Be thorough\.\n/)
      expect(stdout).toContain("    ~ destination CI\n        url: http://127.0.0.1:1/ → http://127.0.0.1:2/\n")
      const plan = JSON.parse((yield* run("diff", "-f", changed, "--json")).stdout)
      expect(plan.summary).toEqual({ create: 0, change: 2, delete: 0, unchanged: 2 })
      expect(plan.steps[1].changes).toContainEqual({ field: "max_cost_per_day", from: 5, to: 7.5 })

      const moved = lines.filter((line) => !line.includes("headers_env")).map((line) => line.replace(":1/", ":2/"))
      const refused = yield* run("apply", "-f", file("moved.yaml", ...moved))
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain(
        "moved.yaml:14  webhooks[0].destinations[0].headers_env must be entered again for another URL\n"
      )

      expect((yield* run("apply", "-f", changed)).code).toBe(0)
      const edited = yield* webhookNamed("pull requests")
      expect(edited).toMatchObject({ id: created.id, max_cost_per_day: 7.5 })
      expect(edited.thread_key).toBeUndefined()
      expect((yield* run("diff", "-f", changed)).code).toBe(0)

      // A new secret, and a secret that looks the same.
      const rotated = { ...secrets, GITHUB_SECRET: "another-secret-of-github" }
      expect((yield* runAt(rotated, "diff", "-f", changed)).stdout).toContain("secret: …ghij → …thub")
      expect((yield* runAt(rotated, "apply", "-f", changed)).code).toBe(0)
      expect((yield* webhookNamed("pull requests")).secret_hint).toBe("…thub")
      const reset = yield* runAt(rotated, "apply", "-f", changed, "--reset-secrets")
      expect([reset.code, reset.stdout]).toEqual([0, expect.stringContaining("secret: …thub → …thub")])
    }
  )

  it.live("changes nothing if anything is invalid, and reports every fault with file, line and field", function* () {
    const good = ["  - name: fine", "    team: demo", "    prompt_template: Fine."]
    const refused = (name: string, ...lines: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const path = file(name, "webhooks:", ...good, ...lines)
        const { code, stderr, stdout } = yield* run("apply", "-f", path)
        expect([code, stdout]).toEqual([2, ""])
        expect(yield* webhookNamed("fine")).toBeUndefined()
        return stderr
      })
    expect(
      yield* refused(
        "fields.yaml",
        ...["  - name: wrong", "    team: demo", "    timeout_secnds: 5", "    max_queued: many"],
        ...[
          "    secret: hunter2",
          "    secret_env: NOT_SET",
          "    prompt_template: x",
          "    retries: {max_retries: 99}"
        ]
      )
    ).toBe(
      [
        "Wrong usage: the configuration is invalid",
        "  fields.yaml:7  webhooks[1].timeout_secnds is not a known field; did you mean timeout_seconds?",
        "  fields.yaml:8  webhooks[1].max_queued must be a whole number from 1 to 10000000",
        "  fields.yaml:9  webhooks[1].secret must not be in a file; use secret_env or secret_file",
        "  fields.yaml:12  webhooks[1].retries must be 1 to 10 retries and a first delay of 1 to 86400 seconds, such as 3/60",
        ""
      ].join("\n")
    )
    expect(yield* refused("syntax.yaml", "  - name: [open")).toMatch(/ {2}syntax\.yaml:\d+ {2}/)
    expect(yield* refused("twice.yaml", "    team: demo")).toContain("twice.yaml:5  Map keys must be unique")
    // What only the server knows.
    const told = yield* refused(
      "server.yaml",
      ...["  - name: wrong", "    team: nobody", "    accept_if: a = 1", "    prompt_template: '{{broken'"],
      ...["    destinations:", "      - url: http://10.0.0.1/", "      - kind: github", "        target: a/b#1"]
    )
    expect(told).toContain("server.yaml:6  webhooks[1].team does not exist")
    expect(told).toMatch(/server\.yaml:7 {2}webhooks\[1\]\.accept_if /)
    expect(told).toMatch(/server\.yaml:8 {2}webhooks\[1\]\.prompt_template line 1, column/)
    expect(told).toMatch(/server\.yaml:10 {2}webhooks\[1\]\.destinations\[0\]\.url /)
    expect(told).toMatch(
      /server\.yaml:11 {2}webhooks\[1\]\.destinations\[1\]\.token_env is required by the kind github/
    )
    const unread = ["  - name: wrong", "    team: demo", "    prompt_template: x", "    verification: {preset: github}"]
    expect(yield* refused("unread.yaml", ...unread, "    secret_env: NOT_SET")).toContain(
      "unread.yaml:9  webhooks[1].secret_env cannot be read: NOT_SET is not set"
    )
    expect(yield* refused("none.yaml", ...unread)).toContain(
      "none.yaml:5  webhooks[1].secret_env is required by `verification`"
    )
    expect(yield* refused("same.yaml", ...good)).toContain("same.yaml:5  webhooks[1].name is listed twice")
  })

  it.live("changes nothing if the key's role may not create or delete the teams of the plan", function* () {
    yield* json("team", "create", "leftover")
    yield* json("webhook", "create", "--name", "stays", "--team", "demo", "--template", "x")
    const { key } = yield* json("key", "create", "--name", "editor", "--role", "editor")
    const path = file("roles.yaml", "teams: [{team: demo}]", "webhooks: []")
    const refused = yield* runAt({ ADMIN_API_KEY: key }, "apply", "-f", path, "--prune", "--yes")
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "The key's role or teams do not allow this: Creating and deleting teams needs the role `admin`, for all teams.\n"
    ])
    expect(yield* webhookNamed("stays")).toBeDefined()
    yield* run("webhook", "delete", "stays", "--yes")
    yield* run("team", "delete", "leftover", "--yes")
  })

  it.live("leaves alone what the files do not have, and deletes it with --prune after a confirmation", function* () {
    yield* json("team", "create", "unused")
    yield* json("webhook", "create", "--name", "old", "--team", "unused", "--template", "x")
    const kept = (yield* run("export", "pull requests", "demo")).stdout
    const path = file("kept.yaml", kept)
    const left = yield* run("diff", "-f", path)
    expect([left.code, left.stdout]).toEqual([0, expect.stringMatching(/--prune deletes:\n {4}webhook old\n/)])

    const refused = yield* run("apply", "-f", path, "--prune")
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")])
    expect(yield* webhookNamed("old")).toBeDefined()
    const pruned = yield* run("apply", "-f", path, "--prune", "--yes")
    expect([pruned.code, pruned.stderr]).toEqual([0, ""])
    expect(pruned.stdout).toContain("- webhook old\n")
    expect(yield* webhookNamed("old")).toBeUndefined()
    expect((yield* json("team", "list")).data.map(({ team }: { team: string }) => team)).not.toContain("unused")
    // A file without a list deletes nothing of its kind.
    const teams = file("teams.yaml", "teams: [{team: demo}]")
    expect((yield* run("diff", "-f", teams, "--prune")).code).toBe(0)
  })

  it.live(
    "reads folders, files beside the file, and its own export from standard input, without changes",
    function* () {
      const config = join(folder(), "config")
      mkdirSync(join(config, "prompts"), { recursive: true })
      writeFileSync(join(config, "prompts", "triage.md"), "Triage {{title}}\n\n- carefully: yes\n")
      writeFileSync(join(config, "secret.txt"), "a-secret-in-a-file-1234\n")
      writeFileSync(join(config, "a.yaml"), "teams: [{team: triage}]\n---\nteams: [{team: second}]\n")
      const fields = [
        "prompt_template_file: prompts/triage.md",
        "verification: {preset: bearer}",
        "secret_file: secret.txt"
      ]
      writeFileSync(join(config, "b.yml"), `webhooks:\n- name: triage\n  team: triage\n  ${fields.join("\n  ")}\n`)
      const { created, summary } = yield* json("apply", "-f", config)
      expect(summary).toMatchObject({ create: 3 })
      expect(created).toMatchObject([{ webhook: "triage", token: expect.stringMatching(/^whk_/) }])
      expect(yield* webhookNamed("triage")).toMatchObject({
        prompt_template: "Triage {{title}}\n\n- carefully: yes\n",
        secret_hint: "…1234"
      })

      const { stdout } = yield* run("export")
      expect(stdout).toContain("      Triage {{title}}\n\n      - carefully: yes\n")
      for (const text of [...Object.values(secrets), "a-secret-in-a-file"]) expect(stdout).not.toContain(text)
      const isValid = new Ajv({ strict: false, validateFormats: false }).compile(
        JSON.parse((yield* run("schema")).stdout)
      )
      expect(isValid(parse(stdout)), JSON.stringify(isValid.errors)).toBe(true)
      expect(isValid({ webhooks: [{ name: "x", team: "demo", secret: "x" }] })).toBe(false)

      const program = `ADMIN_API_KEY=${ADMIN_API_KEY} WEBHOOK_TRIGGER_URL=${address()} '${process.execPath}' '${Program.program}'`
      const piped = yield* Program.shell(`${program} export | ${program} apply -f - --prune`)
      expect(piped).toMatchObject({ code: 0, stderr: "" })
      expect(piped.stdout).toMatch(/^No changes: \d+ unchanged\.\n$/)
    }
  )

  it.live("refuses to overwrite an edit that was made since it compared, and leaves it in place", function* () {
    yield* json("webhook", "create", "--name", "contested", "--team", "demo", "--template", "x")
    const { id } = yield* webhookNamed("contested")
    const fields = ["name: contested", "team: demo", "timeout_seconds: 9", "prompt_template: x"]
    const path = file("contested.yaml", `webhooks:\n  - ${fields.join("\n    ")}`)
    const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }
    // A person edits the webhook just before the command does.
    const proxy = createServer(async (request, response) => {
      const chunks: Array<Uint8Array> = []
      for await (const chunk of request) chunks.push(chunk)
      const ifMatch = request.headers["if-match"]
      if (ifMatch !== undefined) {
        await fetch(`${address()}/api/webhooks/${id}`, { method: "PATCH", headers, body: '{"timeout_seconds": 5}' })
      }
      const answer = await fetch(address() + request.url, {
        method: request.method!,
        headers: { ...headers, ...(ifMatch && { "if-match": ifMatch }) },
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) })
      })
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
      response.end(await answer.text())
    })
    yield* Effect.promise(() => new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve)))
    const { port } = proxy.address() as { port: number }
    const refused = yield* runAt({ WEBHOOK_TRIGGER_URL: `http://127.0.0.1:${port}` }, "apply", "-f", path)
    proxy.close()
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "The server was edited since the comparison: nothing was changed; run the command again\n"
    ])
    expect(yield* webhookNamed("contested")).toMatchObject({ timeout_seconds: 5 })
  })

  it.live("writes new tokens to a new file that only its owner can read", function* () {
    const path = file("new.yaml", "webhooks:", "  - {name: new, team: demo, prompt_template: x}")
    const taken = file("taken", "mine")
    const refused = yield* run("apply", "-f", path, "--tokens-out", taken)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--tokens-out")])
    expect(readFileSync(taken, "utf8")).toBe("mine\n")
    expect(yield* webhookNamed("new")).toBeUndefined()

    const out = join(folder(), "tokens.jsonl")
    const applied = yield* run("apply", "-f", path, "--tokens-out", out)
    expect(applied.stdout).not.toContain("whk_")
    expect(statSync(out).mode & 0o777).toBe(0o600)
    const { token, webhook } = JSON.parse(readFileSync(out, "utf8"))
    expect(webhook).toBe("new")
    const { id } = yield* webhookNamed("new")
    expect(JSON.parse((yield* run("trigger", token, "--json")).stdout)).toMatchObject({ status: "accepted" })
    expect((yield* json("run", "list", id)).data).toHaveLength(1)
  })

  it.live("tells destinations apart by description or place, and webhooks with the same name by ID", function* () {
    const names = ["--name", "twin", "--team", "demo", "--template", "x"]
    const twins = [yield* json("webhook", "create", ...names), yield* json("webhook", "create", ...names)]
    const ids = twins.map(({ webhook }) => webhook.id)
    const token = file("token", "xoxb-1234567890-abcdef")
    for (const target of ["C1", "C2"]) {
      yield* json("destination", "add", ids[0], "--kind", "slack-message", "--token-file", token, "--target", target)
    }
    const path = file("twin.yaml", "webhooks:", "  - {name: twin, team: demo, prompt_template: y}")
    const refused = yield* run("apply", "-f", path)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(ids.join(", "))])

    const exported = (yield* run("export", ids[0])).stdout
    expect(exported).toContain(`id: ${ids[0]}`)
    const moved = exported.replace(
      "target: C2",
      "target: C2\n        url: http://127.0.0.1:1/api\n        token_env: GITHUB_SECRET"
    )
    expect((yield* run("diff", "-f", file("same.yaml", exported))).code).toBe(0)
    // A destination without a description is another one at another place.
    expect((yield* run("diff", "-f", file("moved.yaml", moved))).stdout).toContain("+ destination slack-message")
    const described = file(
      "described.yaml",
      exported.replaceAll(
        /- kind: slack-message\n( +)target: (C\d)/g,
        "- description: $2\n$1id: ID$2\n$1kind: slack-message\n$1target: $2"
      )
    )
    const [one, two] = yield* json("destination", "list", ids[0])
    const withIds = readFileSync(described, "utf8").replace("IDC1", one.id).replace("IDC2", two.id)
    expect((yield* run("apply", "-f", file("described.yaml", withIds))).code).toBe(0)
    const byName = withIds
      .replaceAll(/ +id: .*-.*\n(?= +kind)/g, "")
      .replace("target: C2", "target: C3\n        url: http://127.0.0.1:1/api\n        token_env: GITHUB_SECRET")
    const applied = yield* run("apply", "-f", file("described.yaml", byName))
    expect([applied.code, applied.stderr]).toEqual([0, ""])
    expect(yield* json("destination", "list", ids[0])).toMatchObject([
      { id: one.id, target: "C1" },
      { id: two.id, target: "C3", url: "http://127.0.0.1:1/api" }
    ])
  })

  it.live("exports objects that share names as something that a server without them applies, once", function* () {
    const double = ["webhook", "create", "--name", "double", "--team", "demo", "--template"]
    const ids: ReadonlyArray<string> = yield* Effect.forEach(["first", "second"], (text) =>
      Effect.map(json(...double, text), ({ webhook }) => webhook.id)
    )
    for (const port of [1, 2]) {
      const url = `http://127.0.0.1:${port}/`
      yield* json("destination", "add", ids[1]!, "--to", url, "--description", "twin")
      yield* json("alert", "destination", "add", "--to", url, "--description", "both")
    }
    const [, alertTwin] = yield* json("alert", "destination", "list")
    yield* json("alert", "rule", "add", "cost", "--webhook", ids[1]!, "--destinations", alertTwin.id)
    const all = parse((yield* run("export")).stdout)
    const isDouble = ({ name }: { readonly name: string }) => name === "double"
    const path = file("double.json", JSON.stringify({ ...all, webhooks: all.webhooks.filter(isDouble) }))
    for (const id of ids) yield* run("webhook", "delete", id, "--yes")
    for (const { id } of yield* json("alert", "destination", "list")) {
      yield* run("alert", "destination", "delete", id, "--yes")
    }

    const applied = yield* run("apply", "-f", path)
    expect([applied.code, applied.stderr]).toEqual([0, ""])
    const again = yield* run("diff", "-f", path)
    expect([again.code, again.stderr], again.stdout).toEqual([0, ""])
    const made = (yield* json("webhook", "list")).data.filter(isDouble)
    expect(made.map(({ prompt_template: text }: any) => text).sort()).toEqual(["first", "second"])
    const second = made.find(({ prompt_template: text }: any) => text === "second")
    expect(yield* json("destination", "list", second.id)).toHaveLength(2)
    const destinations = yield* json("alert", "destination", "list")
    const [rule] = yield* json("alert", "rule", "list")
    expect(rule).toMatchObject({ webhook_id: second.id, destination_ids: [destinations[1].id] })
  })
})
