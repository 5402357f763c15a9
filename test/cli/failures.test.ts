import { createServer, type Server as HttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Deferred, Effect, Exit } from "effect"
import { describe, expect, it } from "../support/It.ts"
import { runWith } from "./CommandLine.ts"
import * as Program from "./Program.ts"
import { ADMIN_API_KEY, sharedServer } from "./SharedServer.ts"

const { address, json, run } = sharedServer()

/** A server that answers no request. */
const silentStranger = Effect.gen(function* () {
  const requested = yield* Deferred.make<void>()
  const stranger = yield* Effect.acquireRelease(
    Effect.sync(() => createServer(() => Deferred.doneUnsafe(requested, Exit.void))),
    (stranger) => Effect.sync(() => stranger.close().closeAllConnections())
  )
  yield* Effect.callback<void>((resume) => void stranger.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const { port } = stranger.address() as AddressInfo
  return { requested: Deferred.await(requested), url: `http://127.0.0.1:${port}` }
})

/** The address of a server that is not ours and gives every request this response. */
const strangerAnswering = (status: number, body: string) =>
  Effect.acquireRelease(
    Effect.callback<HttpServer>((resume) => {
      const stranger = createServer((_, response) =>
        response.writeHead(status, { "content-type": "application/json" }).end(body)
      )
      stranger.listen(0, "127.0.0.1", () => resume(Effect.succeed(stranger)))
    }),
    (stranger) => Effect.sync(() => stranger.close().closeAllConnections())
  ).pipe(Effect.map((stranger) => `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`))

describe("the command line", () => {
  it.live("lists every fault that the server reports, and every fault that it finds itself", function* () {
    const refused = yield* run(
      ...["webhook", "create", "--name", "x", "--team", "nobody", "--template", "Review {{branch"]
    )
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/^Some fields are not valid\n {2}--template {2}.*\n {2}--team {2}does not exist\n$/)

    const wrong = yield* run(
      ...["webhook", "create", "--name", "x", "--team", "No Team", "--template", "x", "--timeout", "soon"]
    )
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain("--team must be")
    expect(wrong.stderr).toContain("--timeout must be")
    expect(wrong.stderr).not.toContain("--name")
  })

  it.live("refuses values that no server accepts, naming the option, without a request", function* () {
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

  it.live("exits with 130 or 143 when a signal cuts it short, so that a script does not go on", function* () {
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

  it.live("names the team, webhook or run that does not exist", function* () {
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

  it.live("reports a missing variable and a missing or wrong key", function* () {
    const { token } = yield* json("webhook", "create", "--name", "exits", "--team", "demo", "--template", "{{a}}")
    const missing = yield* run("trigger", token)
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain("a")

    const key = yield* runWith({}, "team", "list", "--url", address(), "--admin-key", "wrong")
    expect(key).toMatchObject({ code: 1, stdout: "" })
    expect(key.stderr).toContain("run webhook-trigger login, set ADMIN_API_KEY or use --admin-key")
    // As a file or a secret store returns it.
    expect(yield* runWith({ ADMIN_API_KEY: `${ADMIN_API_KEY}\n` }, "team", "list", "--url", address())).toMatchObject({
      code: 0
    })
    const none = yield* runWith({}, "team", "list", "--url", address(), "--json")
    expect(JSON.parse(none.stderr)).toMatchObject({ status: 401 })
  })

  it.live("reports what to do when no server answers, or something else does", () =>
    Effect.gen(function* () {
      const unreachable = yield* runWith({}, "team", "list", "--url", "http://127.0.0.1:9")
      expect(unreachable).toMatchObject({ code: 3, stdout: "" })
      expect(unreachable.stderr).toContain("http://127.0.0.1:9")
      expect(unreachable.stderr).toContain("webhook-trigger serve")

      const other = yield* runWith({ ADMIN_API_KEY }, "team", "list", "--url", `${address()}/docs`)
      expect(other).toMatchObject({ code: 1, stdout: "" })

      const url = yield* strangerAnswering(201, "{}")
      const stranger = yield* runWith({ ADMIN_API_KEY }, "team", "create", "ops", "--url", url)
      expect(stranger).toMatchObject({ code: 1, stdout: "" })
      expect(stranger.stderr).toContain(`Unexpected response from ${url}: is it a webhook-trigger server`)
    }).pipe(Effect.scoped)
  )
})
