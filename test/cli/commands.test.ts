import { readFileSync } from "node:fs"
import { createServer, type Server as HttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Scope } from "effect"
import { temporaryFolder } from "../support/private.ts"
import { runWith } from "./CommandLine.ts"
import * as Program from "./Program.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"

const scope = Effect.runSync(Scope.make())
let server: Program.Server

beforeAll(async () => {
  const start = Effect.flatMap(Program.newFolder, (DATA_DIR) =>
    Program.serve({ DATA_DIR, ADMIN_API_KEY, WEBHOOK_TIMEOUT: "2" })
  )
  server = await Effect.runPromise(Scope.extend(start, scope))
}, 60_000)
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const run = (...words: ReadonlyArray<string>) => runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url }, ...words)

/** The JSON document on standard output, which holds nothing else. */
const json = (...words: ReadonlyArray<string>) =>
  Effect.map(run(...words, "--json"), ({ code, stderr, stdout }) => {
    expect({ code, stderr }, words.join(" ")).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout)
  })

/** A server that answers no request. */
const silentStranger = Effect.gen(function* () {
  const requested = yield* Deferred.make<void>()
  const stranger = yield* Effect.acquireRelease(
    Effect.sync(() => createServer(() => Deferred.unsafeDone(requested, Exit.void))),
    (stranger) => Effect.sync(() => stranger.close().closeAllConnections())
  )
  yield* Effect.async<void>((resume) => void stranger.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const { port } = stranger.address() as AddressInfo
  return { requested: Deferred.await(requested), url: `http://127.0.0.1:${port}` }
})

/** The address of a server that is not ours and gives every request this response. */
const strangerAnswering = (status: number, body: string) =>
  Effect.acquireRelease(
    Effect.async<HttpServer>((resume) => {
      const stranger = createServer((_, response) =>
        response.writeHead(status, { "content-type": "application/json" }).end(body)
      )
      stranger.listen(0, "127.0.0.1", () => resume(Effect.succeed(stranger)))
    }),
    (stranger) => Effect.sync(() => stranger.close().closeAllConnections())
  ).pipe(Effect.map((stranger) => `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`))

describe("the command line", { timeout: 60_000 }, () => {
  it.live("manages teams", () =>
    Effect.gen(function* () {
      expect(yield* json("team", "create", "ops")).toMatchObject({
        team: "ops",
        running: false,
        consumers: 0,
        queued: 0
      })
      expect((yield* json("team", "list")).map(({ team }: { team: string }) => team)).toEqual(["demo", "ops"])

      const table = yield* run("team", "list")
      expect(table.stdout).toMatch(/^TEAM +RUNNING +LEADERS +QUEUED +PAUSED +CREATED\n/)
      expect(table.stdout).toMatch(/\ndemo +yes +1 +0 +no +\d{4}-/)

      const again = yield* run("team", "create", "ops")
      expect(again.code).toBe(1)
      expect(again.stdout).toBe("")
      expect(again.stderr).not.toBe("")

      const paused = yield* json("team", "pause", "ops")
      expect(paused).toMatchObject({ team: "ops", paused_at: expect.any(String) })
      expect((yield* run("team", "list")).stdout).toMatch(/\nops +no +0 +0 +since \d{4}-/)
      expect((yield* run("team", "pause", "ops")).stdout).toContain(
        "0 queued. Resume it: webhook-trigger team resume ops"
      )
      expect((yield* run("team", "resume", "ops")).stdout).toBe("Team ops resumed.\n")
      expect(yield* json("team", "resume", "ops")).not.toHaveProperty("paused_at")
      expect((yield* run("team", "pause", "none")).stderr).toContain("No team is called")

      expect((yield* run("team", "delete", "ops", "--yes")).code).toBe(0)
      const gone = yield* run("team", "show", "ops", "--json")
      expect(gone).toMatchObject({ code: 1, stdout: "" })
      expect(JSON.parse(gone.stderr)).toMatchObject({ status: 404, code: "not_found" })
    })
  )

  it.live("creates, lists and revokes a team's leader keys", () =>
    Effect.gen(function* () {
      const keys = (command: string, ...words: ReadonlyArray<string>) => [
        "team",
        "leader-key",
        command,
        "led",
        ...words
      ]
      yield* run("team", "create", "led")
      expect((yield* run(...keys("list"))).stdout).toContain("team leader-key create led")
      expect((yield* run(...keys("create", "--name", "laptop"))).stdout).toMatch(/^whl_\w{49}\n$/)
      const { key, leader_key } = yield* json(...keys("create", "--name", "build server"))
      expect(leader_key).toMatchObject({ team: "led", name: "build server", hint: `…${key.slice(-4)}` })
      const table = yield* run(...keys("list"))
      expect(table.stdout).toMatch(/^KEY +NAME +ENDS IN +CREATED +LAST USED\n/)
      expect(table.stdout).toMatch(new RegExp(`\n${leader_key.id} +build server +…${key.slice(-4)} +.* +never`))
      expect((yield* run(...keys("revoke", leader_key.id))).code).toBe(2)
      expect((yield* run(...keys("revoke", leader_key.id, "--yes"))).code).toBe(0)
      expect((yield* json(...keys("list"))).map(({ name }: { name: string }) => name)).toEqual(["laptop"])
      expect((yield* run(...keys("revoke", leader_key.id, "--yes"))).stderr).toContain("has no key with the id")
      expect((yield* run("team", "leader-key", "list", "none")).stderr).toContain("No team is called")
      expect((yield* run("team", "delete", "led", "--yes")).code).toBe(0)
    })
  )

  it.live("lists and ends sessions of the web UI", () =>
    Effect.gen(function* () {
      const signIn = Effect.promise(() =>
        fetch(`${server.url}/api/session`, {
          method: "POST",
          headers: { "content-type": "application/json", "user-agent": "A browser/1.0" },
          body: JSON.stringify({ key: ADMIN_API_KEY })
        })
      )
      expect((yield* run("session", "list")).stdout).toBe("Nobody is signed in.\n")
      yield* Effect.replicateEffect(signIn, 2)
      const [one, two] = yield* json("session", "list")
      expect(one).toMatchObject({ user_agent: "A browser/1.0", client_address: "127.0.0.1", is_current: false })
      const table = yield* run("session", "list")
      expect(table.stdout).toMatch(/^SESSION +SIGNED IN +LAST USED +FROM +BROWSER\n/)
      expect((yield* run("session", "end", one.id)).code).toBe(0)
      expect(yield* json("session", "list")).toEqual([two])
      expect((yield* run("session", "end", one.id)).stderr).toContain("No session has the id")
      expect((yield* run("session", "end-all")).code).toBe(2)
      expect((yield* run("session", "end-all", "--yes")).code).toBe(0)
      expect(yield* json("session", "list")).toEqual([])
    })
  )

  it.live("lists who did what", () =>
    Effect.gen(function* () {
      yield* run("team", "create", "audited")
      const { data, next_cursor } = yield* json("audit", "list", "--limit", "1")
      expect(data[0]).toMatchObject({ action: "team.created", actor: "admin_key", object: "audited" })
      expect(next_cursor).toBe(data[0].id)
      const page = yield* run("audit", "list", "--object", "audited")
      expect(page.stdout).toMatch(
        /^TIME +ACTION +OBJECT +ACTOR +SESSION +FROM +FIELDS\n.* team\.created +audited +admin_key +- /
      )
      expect((yield* json("audit", "list", "--action", "team.deleted", "--object", "audited")).data).toEqual([])
      expect((yield* run("audit", "list", "--action", "none")).code).toBe(2)
      expect((yield* run("team", "delete", "audited", "--yes")).code).toBe(0)
    })
  )

  it.live("sends a chat message and prints the answer", () =>
    Effect.gen(function* () {
      expect(yield* run("team", "message", "demo", "good morning", "--wait")).toMatchObject({
        code: 0,
        stdout: "good morning\n"
      })
      const { message_id, status } = yield* json("team", "message", "demo", "good night")
      expect(status).toBe("accepted")
      expect(yield* json("run", "show", message_id)).toMatchObject({
        source: "chat",
        conversation: { prompt: "good night" }
      })
      const again = yield* json("run", "replay", message_id, "--message", "good evening", "--key", "once", "--wait")
      expect(again).toMatchObject({ status: "success", response: "good evening" })
      const same = yield* run("run", "replay", message_id, "--message", "good evening", "--key", "once", "--wait")
      expect(same).toEqual({ code: 0, stdout: "good evening\n", stderr: "" })
      expect((yield* run("run", "show", message_id)).stdout).toContain(`\nreplays   ${again.run_id}\n`)
      expect((yield* run("run", "show", again.run_id)).stdout).toContain(`\nreplay of  ${message_id}\n`)
      for (const [words, says] of [
        [["--message", "x", "--same-prompt"], "use either --same-prompt or --message"],
        [["--message", ""], "--message must not be empty"]
      ] as const) {
        const refused = yield* run("run", "replay", message_id, ...words)
        expect([refused.code, refused.stderr], refused.stderr).toEqual([2, expect.stringContaining(says)])
      }
      expect((yield* run("run", "replay", message_id, "--var", "a=b")).stderr).toContain("it has none")
    })
  )

  it.scopedLive("creates, shows, edits, triggers, disables and deletes a webhook", () =>
    Effect.gen(function* () {
      const created = yield* json(
        ...["webhook", "create", "--name", "review", "--team", "demo"],
        ...["--template", "Review {{branch}} for {{who.name}}", "--timeout", "60", "--max-concurrent", "2"]
      )
      const { token, trigger_url, webhook } = created
      expect(webhook).toMatchObject({
        name: "review",
        variables: ["branch", "who.name"],
        timeout_seconds: 60,
        max_concurrent: 2,
        enabled: true
      })
      expect(trigger_url).toBe(`${server.url}/webhook/trigger/${token}`)

      // By id or by name.
      expect(yield* json("webhook", "show", webhook.id)).toEqual(yield* json("webhook", "show", "review"))
      expect((yield* json("webhook", "list")).map(({ name }: { name: string }) => name)).toEqual(["demo", "review"])

      const described = (yield* run("webhook", "show", "review")).stdout
      expect(described).toMatch(
        /^id +[0-9a-f-]{36}\nname +review\n[\s\S]*\n\nPrompt template\n {2}Review \{\{branch\}\} for/
      )
      // What was not set has the server's value.
      expect(described).toMatch(
        /\ntimeout +60 s\nconcurrency limit +2\nqueue limit +\d+ \(default\)\nrate limit +no limit \(default\)\n/
      )

      const edited = yield* json("webhook", "edit", "review", "--timeout", "default", "--max-concurrent", "3")
      expect(edited).toMatchObject({ max_concurrent: 3 })
      expect(edited).not.toHaveProperty("timeout_seconds")

      const variables = ["--var", "branch=a=b", "--json-var", 'who={"name":["x"]}']
      const incomplete = ["webhook", "preview", "review", "--var", "branch=x"]
      expect(yield* run(...incomplete)).toEqual({ code: 1, stdout: "", stderr: "Without a value: who.name\n" })
      const { code, stderr, stdout } = yield* run(...incomplete, "--json")
      expect({ code, stdout, stderr: JSON.parse(stderr) }).toEqual({
        code: 1,
        stdout: "",
        stderr: { missing: ["who.name"] }
      })
      const words = 'Review a=b for ["x"]'
      expect(yield* run("webhook", "preview", "review", ...variables)).toMatchObject({ code: 0, stdout: `${words}\n` })

      expect(yield* run("trigger", trigger_url, "--wait", ...variables)).toMatchObject({
        code: 0,
        stdout: `${words}\n`
      })
      // As copied from a curl command.
      expect(yield* run("trigger", `${trigger_url}?wait=true`, ...variables)).toMatchObject({ stdout: `${words}\n` })
      expect(yield* json("trigger", token, "--wait", ...variables)).toMatchObject({
        status: "success",
        response: words
      })
      const { run_id } = yield* Effect.map(
        runWith({ WEBHOOK_TOKEN: trigger_url }, "trigger", "--json", ...variables),
        ({ stdout }) => JSON.parse(stdout)
      )
      expect(yield* json("run", "show", run_id)).toMatchObject({ variables: { branch: "a=b", who: { name: ["x"] } } })

      const page = yield* json("run", "list", "review", "--limit", "3")
      expect(page.data).toHaveLength(3)
      const rest = yield* json("run", "list", "review", "--cursor", page.next_cursor, "--status", "success")
      expect(rest).toMatchObject({ data: [{ conversation: { response: words } }], next_cursor: null })

      const listed = yield* run("run", "list", "--status", "success,error", "--search", "REVIEW A=B", "--limit", "1")
      expect(listed.stdout).toMatch(
        /^RUN +STATUS +ACCEPTED +WEBHOOK +TEAM +DURATION +ERROR +MODE\n[0-9a-f-]{36} +success +\d.*Z +review +demo +\d.*\n\nOlder runs: --cursor \S+\n$/
      )
      expect(yield* json("run", "list", "--search", run_id)).toMatchObject({ data: [{ run_id }], next_cursor: null })
      const narrow = [
        "--source",
        "webhook",
        "--mode",
        "async",
        "--team",
        "demo",
        "--from",
        "2026-01-01",
        "--min-duration"
      ]
      expect((yield* json("run", "list", "review", ...narrow, "0")).data.length).toBeGreaterThan(0)
      expect(yield* run("run", "list", ...narrow, "86400")).toMatchObject({ code: 0, stdout: "No runs.\n" })
      const again = yield* json("run", "replay", run_id, "--var", "branch=other", "--key", "once")
      const same = ["run", "replay", run_id, "--var", "branch=other", "--key", "once"]
      expect(yield* json(...same)).toEqual(again)
      expect(yield* json("run", "show", again.run_id)).toMatchObject({
        replay_of: run_id,
        variables: { branch: "other", who: { name: ["x"] } }
      })
      expect((yield* run("run", "show", run_id)).stdout).toContain(`\nreplays   ${again.run_id}\n`)
      expect((yield* run("run", "replay", run_id, "--same-prompt", "--var", "branch=x")).code).toBe(2)
      const waited = yield* json("run", "replay", run_id, "--same-prompt", "--wait")
      expect(waited).toMatchObject({ status: "success", response: expect.any(String) })
      const failed = yield* json("webhook", "replay", "review", "--yes")
      expect(failed).toEqual({ matched: 0, more: false, replayed: [], refused: [] })

      yield* json("webhook", "edit", "review", "--coalesce", "branch 3600")
      const joined = yield* json("trigger", token, ...variables)
      expect((yield* json("trigger", token, ...variables)).run_id).toBe(joined.run_id)
      const shown = (yield* run("run", "show", joined.run_id)).stdout
      expect(shown).toMatch(/\ncollecting until +\d.*\n/)
      expect(shown).toMatch(/\nrequests combined +1\n/)
      const succeeded = ["replay", "--status", "success", "--to", "2100-01-02T03:04:05Z"]
      expect((yield* run("webhook", ...succeeded, "review")).code).toBe(2)
      expect((yield* run("webhook", ...succeeded, "--yes", "review")).stdout).toMatch(/^[1-9]\d* replayed\.\n$/)
      expect((yield* run("team", "replay", "demo", "--status", "cancelled")).stdout).toBe("No runs to replay.\n")

      const exported = `${yield* temporaryFolder}/runs`
      expect(yield* run("run", "export", "review", "--output", exported)).toEqual({ code: 0, stdout: "", stderr: "" })
      const lines = readFileSync(exported, "utf8").trimEnd().split("\n")
      expect(lines.map((line) => JSON.parse(line))).toContainEqual(yield* json("run", "show", run_id))
      expect((yield* run("run", "export", "--team", "none", "--format", "csv", "-o", exported)).code).toBe(0)
      expect(readFileSync(exported, "utf8")).toMatch(/^run_id,[\w,]+\r\n$/)
      expect(yield* run("run", "export", "-o", `${exported}/none`)).toMatchObject({ code: 1, stdout: "" })
      expect(yield* run("run", "cancel", run_id, "nothing", run_id)).toEqual({
        code: 1,
        stdout: "0 runs cancelled.\n",
        stderr: `2 runs not cancelled\n  nothing  No run has this id.\n  ${run_id}  The run ended as \`success\` before it could be cancelled.\n`
      })

      expect((yield* run("webhook", "disable", "review")).stdout).toBe("Webhook review disabled.\n")
      expect((yield* run("trigger", token, ...variables)).code).toBe(1)
      expect((yield* run("webhook", "enable", "review")).stdout).toBe("Webhook review enabled.\n")

      expect(yield* json("webhook", "refused", "review")).toHaveProperty("data")
      const fresh = yield* json("webhook", "regenerate", "review", "--yes")
      expect((yield* run("trigger", token, ...variables)).code).toBe(1)
      expect((yield* run("trigger", fresh.token, ...variables)).code).toBe(0)

      expect((yield* run("webhook", "delete", "review", "-y")).code).toBe(0)
      expect((yield* run("run", "show", run_id)).code).toBe(1)
    })
  )

  it.live("duplicates a webhook, and lists, compares and restores the versions of its template", () =>
    Effect.gen(function* () {
      const names = ["--name", "versions", "--team", "demo"]
      const { webhook } = yield* json(
        "webhook",
        "create",
        ...names,
        "--template",
        "Say\n{{a}}\nplease",
        "--rate",
        "9/min"
      )
      yield* json("webhook", "edit", "versions", "--template", "Say\n{{b}}\nplease")
      const { data } = yield* json("webhook", "versions", "versions")
      expect(data).toMatchObject([
        { version: 2, actor: "admin_key" },
        { version: 1, actor: "admin_key" }
      ])
      expect((yield* run("webhook", "versions", "versions")).stdout).toMatch(
        /^VERSION +SET +LANGUAGE +INPUT +BY +FROM +SESSION\n2 +\d{4}-.* simple +variables +admin_key +127\.0\.0\.1 +-\n1 /
      )
      const changes = "@@ -1,3 +1,3 @@\n Say\n-{{a}}\n+{{b}}\n please\n"
      expect((yield* run("webhook", "diff", "versions")).stdout).toMatch(/^Version 1 \(.*\) and version 2 \(.*\)\n@@/)
      expect((yield* run("webhook", "diff", "versions", "--from", "1", "--to", "2")).stdout).toContain(changes)
      expect((yield* run("webhook", "diff", "versions", "--to", "1")).stderr).toBe(
        "There is no version before it to compare with\n"
      )
      expect((yield* run("webhook", "restore", "versions", "1")).stdout).toBe(
        "Webhook versions has the template of version 1 again, as version 3.\n"
      )
      expect((yield* run("webhook", "restore", "versions", "9")).stderr).toContain("The webhook has no version 9")
      expect((yield* run("webhook", "restore", "versions", "x")).code).toBe(2)
      const both = yield* json("webhook", "diff", "versions")
      expect([both.before.version, both.after.prompt_template]).toEqual([2, "Say\n{{a}}\nplease"])

      const copied = yield* json("webhook", "duplicate", webhook.id)
      expect(copied.webhook).toMatchObject({ name: "versions (copy)", team: "demo", rate: "9/min", version: 1 })
      const named = yield* run("webhook", "duplicate", "versions", "--name", "another")
      expect(named.stdout).toMatch(/^Webhook another \([0-9a-f-]{36}\) created\.\n/)
      for (const name of ["versions", "versions (copy)", "another"]) yield* run("webhook", "delete", name, "--yes")
    })
  )

  it.live("prints the commands that give a team's leader its rights, when it is created and later", () =>
    Effect.gen(function* () {
      const created = yield* run("team", "create", "apart", "--broker-rights", "--vhost", "hooks")
      const commands = [
        "rabbitmqctl add_user 'team-apart'",
        "rabbitmqctl set_permissions -p 'hooks' 'team-apart' '^team\\.apart(\\.cancel\\..+)?$' '^(team\\.apart\\.cancel\\..+|webhook\\.(replies|dlx))$' '^(team\\.apart(\\.cancel\\..+)?|webhook\\.cancel\\.apart)$'",
        `rabbitmqctl set_user_limits 'team-apart' '{"max-connections":20,"max-channels":60}'`
      ]
      expect(created.stdout).toContain(`\n\n${commands.join("\n")}\n`)
      // Without a server: nothing is changed.
      expect(yield* runWith({}, "team", "broker-rights", "apart", "--vhost", "hooks")).toEqual({
        code: 0,
        stdout: `${commands.join("\n")}\n`,
        stderr: ""
      })
      const quoted = yield* runWith({}, "team", "broker-rights", "apart", "--broker-user", "it's; rm -rf /")
      expect(quoted.stdout).toContain(`add_user 'it'\\''s; rm -rf /'\n`)
      const asJson = yield* json("team", "create", "apart-too", "--broker-rights")
      expect(asJson).toMatchObject({
        team: "apart-too",
        broker_rights: {
          user: "team-apart-too",
          vhost: "/",
          read: "^(team\\.apart-too(\\.cancel\\..+)?|webhook\\.cancel\\.apart-too)$"
        }
      })
      expect(yield* json("team", "broker-rights", "apart-too")).toEqual(asJson.broker_rights)
    })
  )

  it.live("prints a new webhook's token in a curl command that works", () =>
    Effect.gen(function* () {
      const created = yield* run(
        ...["webhook", "create", "--name", "quoted", "--team", "demo", "--template", "It's {{a}} and {{b-c}}"]
      )
      const [line] = /curl [\s\S]*/.exec(created.stdout)!
      expect((yield* Program.shell(`${line.trimEnd()} --silent`)).stdout).toContain(
        `"response":"It's your a and your b-c"`
      )
    })
  )

  it.live("lists every fault that the server reports, and every fault that it finds itself", () =>
    Effect.gen(function* () {
      const refused = yield* run(
        ...["webhook", "create", "--name", "x", "--team", "nobody", "--template", "Review {{branch"]
      )
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/^Some fields are not valid\n {2}\/prompt_template {2}.*\n {2}\/team {2}.*\n$/)

      const wrong = yield* run(
        ...["webhook", "create", "--name", "x", "--team", "No Team", "--template", "x", "--timeout", "soon"]
      )
      expect(wrong.code).toBe(2)
      expect(wrong.stderr).toContain("--team must be")
      expect(wrong.stderr).toContain("--timeout must be")
      expect(wrong.stderr).not.toContain("--name")
    })
  )

  it.live("refuses values that no server accepts, naming the option, without a request", () =>
    Effect.gen(function* () {
      const offline = (...words: ReadonlyArray<string>) =>
        runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: "http://127.0.0.1:9" }, ...words)
      const webhook = ["webhook", "create", "--name", "x", "--team", "demo"]
      for (const [words, says] of [
        [["run", "list", "demo", "--limit", "0"], "--limit must be a whole number from 1 to 100"],
        [["run", "list", "demo", "--limit", "500"], "--limit must be a whole number from 1 to 100"],
        [["run", "list", "demo", "--limit", "few"], "--limit must be a whole number from 1 to 100"],
        [["run", "list", "demo", "--status", "lost"], "--status must be one or more of queued, running, success"],
        [["run", "list", "--status", "error,lost"], "--status must be one or more of queued, running, success"],
        [["run", "list", "--from", "yesterday"], "--from must be a time such as 2026-01-02T03:04:05Z, or a day"],
        [["run", "list", "--min-duration", "long"], "--min-duration must be a number of seconds"],
        [["run", "list", "--source", "mail"], "--source must be one of webhook, chat"],
        [["team", "message", "demo", ""], "<text> must not be empty"],
        [["team", "create", "My Team"], "<team> must be 1 to 63 lower-case letters"],
        [["team", "list", "--url", "localhost"], "--url or WEBHOOK_TRIGGER_URL must be an address"],
        [["team", "list", "--admin-key", "schlüssel"], "--admin-key or ADMIN_API_KEY must contain only"],
        [[...webhook, "--template", ""], "--template and --template-file must have 1 to 65,536 characters"],
        [[...webhook, "--template-file", "/no/such/file"], "--template-file: cannot read the file"],
        [[...webhook, "--template", "a", "--timeout", "0"], "--timeout must be a whole number of seconds"],
        [[...webhook, "--template", "a", "--max-concurrent", "0"], "--max-concurrent must be a whole number"]
      ] as const) {
        const { code, stderr, stdout } = yield* offline(...words)
        expect({ code, stdout }, words.join(" ")).toEqual({ code: 2, stdout: "" })
        expect(stderr).toContain(says)
      }
      const asJson = yield* offline("run", "list", "demo", "--limit", "0", "--json")
      expect(JSON.parse(asJson.stderr).errors).toEqual([
        { pointer: "", detail: "--limit must be a whole number from 1 to 100" }
      ])
      expect(yield* offline("run", "list", "demo", "--limit", "100")).toMatchObject({ code: 3 })
    })
  )

  it.live("asks for confirmation on a terminal before what cannot be undone, and requires --yes without one", () =>
    Effect.gen(function* () {
      const variables = { ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url }
      yield* json("team", "create", "doomed")
      const { token } = yield* json("webhook", "create", "--name", "doomed", "--team", "doomed", "--template", "x")
      const isThere = Effect.map(json("webhook", "list"), (all) =>
        all.some(({ name }: { name: string }) => name === "doomed")
      )

      for (const words of [
        ["webhook", "delete", "doomed"],
        ["webhook", "regenerate", "doomed"],
        ["team", "delete", "doomed"]
      ]) {
        const refused = yield* run(...words)
        expect(refused, words.join(" ")).toMatchObject({ code: 2, stdout: "" })
        expect(refused.stderr).toContain("--yes")
        const declined = yield* Program.onTerminal("n\n", words, variables)
        expect(declined.stdout).toMatch(/doomed.*\[y\/N\]/)
        expect(declined.stdout).toContain("Nothing was changed")
        expect(declined.code).toBe(1)
      }
      expect(yield* isThere).toBe(true)
      // The old token still works: the request is refused only because the team has no leader.
      expect((yield* run("trigger", token)).stderr).not.toContain("No webhook")

      // The end of the input does not confirm either.
      expect((yield* Program.onTerminal("\x04", ["webhook", "delete", "doomed"], variables)).code).toBe(1)
      expect(yield* isThere).toBe(true)
      // Neither does a signal, after which a script must not go on.
      const interrupted = yield* Program.onTerminal("\x03", ["webhook", "delete", "doomed"], variables)
      expect(interrupted.code).toBe(130)
      const terminated = yield* Program.onTerminal(
        (pid) => process.kill(pid, "SIGTERM"),
        ["webhook", "delete", "doomed"],
        variables
      )
      expect(terminated.code).toBe(143)
      expect(yield* isThere).toBe(true)
      expect((yield* Program.onTerminal("y\n", ["webhook", "delete", "doomed"], variables)).code).toBe(0)
      expect(yield* isThere).toBe(false)
      expect((yield* run("team", "delete", "doomed", "--yes")).code).toBe(0)
    })
  )

  it.scopedLive("exits with 130 or 143 when a signal cuts it short, so that a script does not go on", () =>
    Effect.gen(function* () {
      for (const [signal, code] of [
        ["SIGINT", 130],
        ["SIGTERM", 143]
      ] as const) {
        const { requested, url } = yield* silentStranger
        const command = yield* Program.start(["webhook", "list"], { ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: url })
        yield* requested
        process.kill(command.pid, signal)
        expect(yield* command.ended).toEqual({ code, stdout: "", stderr: "" })
      }
    })
  )

  it.live("names the team, webhook or run that does not exist", () =>
    Effect.gen(function* () {
      const id = "01890a5d-ac96-774b-bcce-b302099a8057"
      for (const [words, says] of [
        [["team", "show", "nobody"], "nobody"],
        [["webhook", "show", "nothing"], "nothing"],
        [["webhook", "show", id], id],
        [["run", "list", id], id],
        [["run", "show", id], id],
        [["trigger", "whk_none"], "token"]
      ] as const) {
        const { code, stderr } = yield* run(...words)
        expect(code, words.join(" ")).toBe(1)
        expect(stderr).toMatch(/^No (team|webhook|run) /)
        expect(stderr).toContain(says)
      }
    })
  )

  it.live("reads a prompt from a file or from standard input", () =>
    Effect.gen(function* () {
      const create = `'${process.execPath}' '${Program.program}' webhook create --json --team demo --name piped --template-file`
      const line = `printf 'Hello {{name}}' | ADMIN_API_KEY=${ADMIN_API_KEY} WEBHOOK_TRIGGER_URL=${server.url} ${create} -`
      const { webhook } = JSON.parse((yield* Program.shell(line)).stdout)
      expect(webhook).toMatchObject({ prompt_template: "Hello {{name}}", variables: ["name"] })
      const edited = yield* json("webhook", "edit", "piped", "--template-file", "tsconfig.build.json")
      expect(edited.prompt_template).toContain("compilerOptions")
      yield* json("webhook", "edit", "piped", "--template", "x")
      expect((yield* run("webhook", "delete", "piped", "--yes")).code).toBe(0)
    })
  )

  it.live("reports a missing variable and a missing or wrong key", () =>
    Effect.gen(function* () {
      const { token } = yield* json("webhook", "create", "--name", "exits", "--team", "demo", "--template", "{{a}}")
      const missing = yield* run("trigger", token)
      expect(missing.code).toBe(1)
      expect(missing.stderr).toContain("a")

      const key = yield* runWith({}, "team", "list", "--url", server.url, "--admin-key", "wrong")
      expect(key).toMatchObject({ code: 1, stdout: "" })
      expect(key.stderr).toContain("set ADMIN_API_KEY or use --admin-key")
      // As a file or a secret store returns it.
      expect(
        yield* runWith({ ADMIN_API_KEY: `${ADMIN_API_KEY}\n` }, "team", "list", "--url", server.url)
      ).toMatchObject({
        code: 0
      })
      const none = yield* runWith({}, "team", "list", "--url", server.url, "--json")
      expect(JSON.parse(none.stderr)).toMatchObject({ status: 401 })
    })
  )

  it.live("reports what to do when no server answers, or something else does", () =>
    Effect.gen(function* () {
      const unreachable = yield* runWith({}, "team", "list", "--url", "http://127.0.0.1:9")
      expect(unreachable).toMatchObject({ code: 3, stdout: "" })
      expect(unreachable.stderr).toContain("http://127.0.0.1:9")
      expect(unreachable.stderr).toContain("webhook-trigger serve")

      const other = yield* runWith({ ADMIN_API_KEY }, "team", "list", "--url", `${server.url}/docs`)
      expect(other).toMatchObject({ code: 1, stdout: "" })

      const url = yield* strangerAnswering(201, "{}")
      const stranger = yield* runWith({ ADMIN_API_KEY }, "team", "create", "ops", "--url", url)
      expect(stranger).toMatchObject({ code: 1, stdout: "" })
      expect(stranger.stderr).toContain(`Unexpected response from ${url}: is it a webhook-trigger server`)
    }).pipe(Effect.scoped)
  )

  it.live("prints its version", () =>
    Effect.gen(function* () {
      for (const words of ["--version", "version"]) {
        expect(yield* run(words)).toEqual({ code: 0, stdout: "1.2.3\n", stderr: "" })
      }
    })
  )

  it.live("explains every command and each of its options, and lists each group's commands", () =>
    Effect.gen(function* () {
      const overview = yield* run()
      expect(overview.stdout).toContain("Usage: webhook-trigger <command> [options]")
      for (const words of [["--help"], ["-h"], ["help"]]) expect(yield* run(...words)).toEqual(overview)
      const commands = [...overview.stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2,}\S/gm)].map(([, words]) =>
        words!.split(" ")
      )
      expect(commands).toHaveLength(53)

      for (const group of ["team", "webhook", "run", "session"]) {
        const { stdout } = yield* run(group)
        expect(stdout).toContain(`Usage: webhook-trigger ${group} <command> [options]`)
        for (const words of commands) {
          expect(stdout.includes(`\n  ${words.join(" ")} `), words.join(" ")).toBe(words[0] === group)
        }
        expect((yield* run(group, "--help")).stdout).toBe(stdout)
        expect((yield* run("help", group)).stdout).toBe(stdout)
      }

      for (const words of commands) {
        const { code, stdout } = yield* run(...words, "--help")
        expect(code).toBe(0)
        expect(stdout).toContain(`Usage: webhook-trigger ${words.join(" ")}`)
        expect(stdout).not.toContain("\u001b")
        for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(110)
        // A name, and its meaning.
        const options = stdout.split("\n").filter((line) => /^ {2}-/.test(line))
        for (const line of options) expect(line).toMatch(/^ {2}-\S+( \S+)* {2,}\S/)
        expect((yield* run("help", ...words)).stdout).toBe(stdout)
      }
      expect((yield* run("leader", "--help")).stdout).toContain("leader --team name [options] -- <program>...\n")
      const help = (yield* run("webhook", "create", "--help")).stdout
      expect(help.replace(/\s+/g, " ")).toContain(
        "--name text --team name (--template text | --template-file file) [options] "
      )
      expect(help).toMatch(/--template-file file +A file[\s\S]*Examples:\n {2}webhook-trigger webhook create --name/)
    })
  )
})
