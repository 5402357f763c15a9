import { Deferred, Effect, Fiber } from "effect"
import { failUnsuccessful } from "../../../src/cli/run/Outcome.ts"
import * as Server from "../../http/Server.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { runWith } from "../CommandLine.ts"

const run_id = "01890a5d-ac96-774b-bcce-b302099a8057"
const failure = (error: unknown) => Effect.flip(failUnsuccessful(error))

describe("the outcome of a run that a command waited for", () => {
  it.effect("is exit code 5 for a timeout, with the command that shows a late answer", function* () {
    const body = { status: "timeout", run_id }
    expect(yield* failure(body)).toMatchObject({
      exit: 5,
      detail: expect.stringContaining(`run show ${run_id}`),
      body
    })
  })

  it.effect("is exit code 4 for an error, with its code and message", function* () {
    const body = { status: "error", run_id, error: { code: "agent_error", message: "no such branch" } }
    expect(yield* failure(body)).toMatchObject({
      exit: 4,
      title: `The run ${run_id} failed (agent_error)`,
      detail: "no such branch",
      body
    })
  })

  it.effect("is left to others when the error is not a run", function* () {
    for (const error of ["timeout", { status: 404 }, { status: "timeout" }, { status: "success", run_id }, null]) {
      expect(yield* failure(error)).toBe(error)
    }
  })

  it.live("is shown by `run show --wait` once the run has ended, with the exit code of `trigger --wait`", function* () {
    const { http, origin, team, webhook } = yield* Server.start()
    const answered = yield* Deferred.make<void>()
    yield* team("slow", ({ reply }) =>
      Effect.andThen(Deferred.await(answered), reply({ _tag: "Answered", response: "done" }))
    )
    yield* team("failing", Server.failing)
    yield* team("shaped", ({ reply }) => reply({ _tag: "Answered", response: '```\n{"ok":1.0}\n```' }))
    const variables = { ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: origin }
    const runOf = (team: string) =>
      Effect.flatMap(webhook(team, "{{text}}", team === "shaped" ? { answer_schema: {} } : {}), ({ path }) =>
        Effect.map(http("POST", path, { body: Server.hello }), ({ json }) => json.run_id as string)
      )
    const id = yield* runOf("slow")
    const waiting = yield* Effect.forkChild(runWith(variables, "run", "show", id, "--wait"))
    const list = Effect.map(runWith(variables, "run", "list"), ({ stdout }) => stdout)
    yield* repeatUntil(list, (text) => /\nsent /.test(text))
    yield* Deferred.succeed(answered, undefined)
    const { code, stderr, stdout } = yield* Fiber.join(waiting)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/\nstatus +success\n[\s\S]*\nResponse\n {2}done\n/)
    const shaped = yield* runWith(variables, "run", "show", yield* runOf("shaped"), "--wait")
    expect(shaped.stdout).toMatch(/\nAnswer\n {2}\{\n {4}"ok": 1\.0\n {2}\}\n/)

    const failed = yield* runWith(variables, "run", "show", yield* runOf("failing"), "--wait", "--json")
    expect(failed.code).toBe(4)
    expect(JSON.parse(failed.stdout)).toMatchObject({ status: "error" })
    expect(JSON.parse(failed.stderr)).toMatchObject({ detail: "no disk" })
  })

  it.live("is the same exit code for a chat message as for a trigger", function* () {
    const { origin, team, webhook } = yield* Server.start()
    yield* team("failing", Server.failing)
    const { token } = yield* webhook("failing", "a prompt")
    const variables = { ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: origin }
    for (const words of [
      ["trigger", token],
      ["team", "message", "failing", "hello"]
    ]) {
      const { code, stderr, stdout } = yield* runWith(variables, ...words, "--wait")
      expect({ code, stdout }, words[0]!).toEqual({ code: 4, stdout: "" })
      expect(stderr).toContain("no disk")
    }
  })
})
