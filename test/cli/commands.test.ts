import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Scope } from "effect"
import * as Cli from "../../src/cli/Cli.ts"
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

/** The command line in this process: what it writes and its exit code. */
const runWith = (variables: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const [out, err]: [Array<string>, Array<string>] = [[], []]
    const to = (lines: Array<string>) => (text: string) => Effect.sync(() => void lines.push(`${text}\n`))
    const code = yield* Cli.run(words, "1.2.3", nothingHere).pipe(
      Effect.withConsole({ ...(yield* Effect.console), log: to(out), info: to(out), error: to(err), warn: to(err) }),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
    )
    return { code, stdout: out.join(""), stderr: err.join("") }
  })

const nothingHere = { serve: () => Effect.void, leader: () => Effect.void }

const run = (...words: ReadonlyArray<string>) => runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url }, ...words)

/** The JSON document that standard output holds, which is all that it holds. */
const json = (...words: ReadonlyArray<string>) =>
  Effect.map(run(...words, "--json"), ({ code, stderr, stdout }) => {
    expect({ code, stderr }, words.join(" ")).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout)
  })

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
      expect(table.stdout).toMatch(/^TEAM +RUNNING +LEADERS +QUEUED +CREATED\n/)
      expect(table.stdout).toMatch(/\ndemo +yes +1 +0 +\d{4}-/)

      const again = yield* run("team", "create", "ops")
      expect(again.code).toBe(1)
      expect(again.stdout).toBe("")
      expect(again.stderr).not.toBe("")

      expect((yield* run("team", "delete", "ops")).code).toBe(0)
      const gone = yield* run("team", "show", "ops", "--json")
      expect(gone).toMatchObject({ code: 1, stdout: "" })
      expect(JSON.parse(gone.stderr)).toMatchObject({ status: 404, code: "not_found" })
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
    })
  )

  it.live("takes a webhook from its creation to its end", () =>
    Effect.gen(function* () {
      const made = yield* json(
        ...["webhook", "create", "--name", "review", "--team", "demo"],
        ...["--template", "Review {{branch}} for {{who.name}}", "--timeout", "60", "--max-concurrent", "2"]
      )
      const { token, trigger_url, webhook } = made
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

      const edited = yield* json("webhook", "edit", "review", "--timeout", "default", "--max-concurrent", "3")
      expect(edited).toMatchObject({ max_concurrent: 3 })
      expect(edited).not.toHaveProperty("timeout_seconds")

      const variables = ["--var", "branch=a=b", "--json-var", 'who={"name":["x"]}']
      expect(yield* json("webhook", "preview", "review", "--var", "branch=x")).toEqual({ missing: ["who.name"] })
      const words = 'Review a=b for ["x"]'
      expect(yield* run("webhook", "preview", "review", ...variables)).toMatchObject({ code: 0, stdout: `${words}\n` })

      expect(yield* run("trigger", trigger_url, "--wait", ...variables)).toMatchObject({
        code: 0,
        stdout: `${words}\n`
      })
      expect(yield* json("trigger", token, "--wait", ...variables)).toMatchObject({
        status: "success",
        response: words
      })
      const { run_id } = yield* json("trigger", token, ...variables)
      expect(yield* json("run", "show", run_id)).toMatchObject({ variables: { branch: "a=b", who: { name: ["x"] } } })

      const page = yield* json("run", "list", "review", "--limit", "2")
      expect(page.data).toHaveLength(2)
      const rest = yield* json("run", "list", "review", "--cursor", page.next_cursor, "--status", "success")
      expect(rest).toMatchObject({ data: [{ conversation: { response: words } }], next_cursor: null })

      expect((yield* run("webhook", "disable", "review")).stdout).toBe("Webhook review disabled.\n")
      expect((yield* run("trigger", token, ...variables)).code).toBe(1)
      expect((yield* run("webhook", "enable", "review")).stdout).toBe("Webhook review enabled.\n")

      const fresh = yield* json("webhook", "regenerate", "review")
      expect((yield* run("trigger", token, ...variables)).code).toBe(1)
      expect((yield* run("trigger", fresh.token, ...variables)).code).toBe(0)

      expect((yield* run("webhook", "delete", "review")).code).toBe(0)
      expect((yield* run("run", "show", run_id)).code).toBe(1)
    })
  )

  it.live("shows a new webhook's token in a curl line that works", () =>
    Effect.gen(function* () {
      const made = yield* run(
        ...["webhook", "create", "--name", "quoted", "--team", "demo", "--template", "It's {{a}} and {{b-c}}"]
      )
      const [line] = /curl [\s\S]*/.exec(made.stdout)!
      expect((yield* Program.shell(`${line.trimEnd()} --silent`)).stdout).toContain(`"response":"It's ... and ..."`)
    })
  )

  it.live("lists every fault that the server finds, and those it can find itself", () =>
    Effect.gen(function* () {
      const refused = yield* run(
        ...["webhook", "create", "--name", "x", "--team", "nobody", "--template", "Review {{branch"]
      )
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain("/team")
      expect(refused.stderr).toContain("/prompt_template")

      const wrong = yield* run(
        ...["webhook", "create", "--name", "x", "--team", "No Team", "--template", "x", "--timeout", "soon"]
      )
      expect(wrong.code).toBe(2)
      expect(wrong.stderr).toContain("team")
      expect(wrong.stderr).toContain("timeout_seconds")
    })
  )

  it.live("says what is missing: a variable, a key", () =>
    Effect.gen(function* () {
      const { token } = yield* json("webhook", "create", "--name", "exits", "--team", "demo", "--template", "{{a}}")
      const missing = yield* run("trigger", token)
      expect(missing.code).toBe(1)
      expect(missing.stderr).toContain("a")

      const key = yield* runWith({}, "team", "list", "--url", server.url, "--admin-key", "wrong")
      expect(key).toMatchObject({ code: 1, stdout: "" })
      const none = yield* runWith({}, "team", "list", "--url", server.url, "--json")
      expect(JSON.parse(none.stderr)).toMatchObject({ status: 401 })
    })
  )

  it.live("says what to do when no server is there, or something else is", () =>
    Effect.gen(function* () {
      const nobody = yield* runWith({}, "team", "list", "--url", "http://127.0.0.1:9")
      expect(nobody).toMatchObject({ code: 3, stdout: "" })
      expect(nobody.stderr).toContain("http://127.0.0.1:9")
      expect(nobody.stderr).toContain("webhook-trigger serve")

      const other = yield* runWith({ ADMIN_API_KEY }, "team", "list", "--url", `${server.url}/docs`)
      expect(other).toMatchObject({ code: 1, stdout: "" })
    })
  )

  it.live("knows its version, an overview and each command's help, and wrong usage from right", () =>
    Effect.gen(function* () {
      expect((yield* run("--version")).stdout).toBe("1.2.3\n")
      for (const words of [[], ["--help"], ["webhook"], ["webhook", "--help"]]) {
        expect((yield* run(...words)).stdout).toContain("Usage: webhook-trigger <command> [options]")
      }
      const help = yield* run("webhook", "create", "--help")
      expect(help.stdout).toContain("--template-file")
      expect(help.stdout).not.toContain("\u001b")
      for (const words of [
        ["frob"],
        ["team", "list", "--frob"],
        ["run", "show"],
        ["trigger", "x"],
        ["serve", "--", "x"]
      ]) {
        const ended = yield* run(...words)
        expect({ ...ended, stderr: ended.stderr !== "" }, words.join(" ")).toEqual({
          code: 2,
          stdout: "",
          stderr: true
        })
      }
    })
  )
})
