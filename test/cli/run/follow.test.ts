/** `run watch` and `trigger --stream`, with the built program where they write an answer as it grows. */

import { Effect, Fiber } from "effect"
import { makeLeader } from "../../http/events/StepLeader.ts"
import * as Server from "../../http/Server.ts"
import { describe, expect, it } from "../../support/It.ts"
import { Proxy } from "../../support/Proxy.ts"
import { repeatUntil } from "../../support/Until.ts"
import { runWith } from "../CommandLine.ts"
import * as Program from "../Program.ts"

/** A server behind a proxy, with a webhook whose leader does what the test says. */
const startLed = Effect.gen(function* () {
  const { does, leader } = yield* makeLeader
  const server = yield* Server.start()
  const { path } = yield* server.webhook(yield* server.team("ops", leader))
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => Proxy.of(server.origin)),
    (proxy) => Effect.promise(() => proxy.close())
  )
  const WEBHOOK_TRIGGER_URL = proxy.through(server.origin)
  const variables = { WEBHOOK_TRIGGER_URL, ADMIN_API_KEY: Server.adminKey }
  const start = (...words: ReadonlyArray<string>) => Program.start(words, variables)
  const run = (...words: ReadonlyArray<string>) => runWith(variables, ...words)
  const accepted = Effect.map(server.http("POST", path, { body: Server.hello }), ({ json }) => json.run_id as string)
  const streaming = ["trigger", path.split("/").at(-1)!, "--var", "text=hello", "--stream"]
  const stream = () => start(...streaming)
  return { ...server, accepted, does, path, proxy, run, start, stream, streaming }
})

const idIn = (text: string) => /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text)![0]

describe("a command that follows a run", () => {
  it.live("prints the text as it grows, the activity on standard error, and what the answer adds", function* () {
    const { does, stream } = yield* startLed
    const { ended, waitFor } = yield* stream()
    yield* does({ seq: 0, text: "All is", activity: "Reading\u001b[2J files" })
    yield* waitFor(/^All is$/)
    yield* does({ seq: 1, text: " well" })
    yield* waitFor(/^All is well$/)
    yield* does({ answer: "All is well." })
    const { code, stderr, stdout } = yield* ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: "All is well.\n" })
    const run_id = idIn(stderr)
    expect(stderr).toBe(`Accepted as ${run_id}.\nStarted.\nReading\ufffd[2J files\n`)
  })

  it.live("says how to reply if the agent asks, unless a program reads it", function* () {
    const { accepted, does, run, streaming } = yield* startLed
    const waiting = [...streaming.slice(0, -1), "--wait"]
    const asking = does({ answer: "Ship it?", asks: ["Yes, it's fine", "No"] })
    for (const words of [streaming, waiting, ["run", "watch"]]) {
      const id = words === waiting || words === streaming ? [] : [yield* accepted]
      yield* asking
      const { code, stderr } = yield* run(...words, ...id)
      expect(code).toBe(0)
      const reply = `  webhook-trigger run reply ${idIn(stderr)}`
      expect(stderr).toContain(`The agent asks a question. Reply with:\n${reply} 'Yes, it'\\''s fine'\n${reply} 'No'\n`)
    }
    yield* asking
    expect((yield* run(...waiting, "--json")).stderr).not.toContain("run reply")
    expect(JSON.parse((yield* run("run", "list", "--asks", "--json")).stdout).data).toHaveLength(4)
  })

  it.live("continues after lost connections, without a gap or a repetition", function* () {
    const { accepted, does, proxy, start, stream } = yield* startLed
    const commands = {
      "trigger --stream": stream(),
      "run watch": Effect.flatMap(accepted, (run_id) => start("run", "watch", run_id))
    }
    for (const [name, command] of Object.entries(commands)) {
      const { ended, waitFor } = yield* command
      yield* does({ seq: 0, text: "one " })
      yield* waitFor(/^one $/)
      proxy.reset({ refuse: true })
      yield* does({ seq: 1, text: "two " })
      proxy.pass()
      yield* waitFor(/^one two $/)
      yield* does({ answer: "one two three" })
      expect(yield* ended, name).toMatchObject({ code: 0, stdout: "one two three\n" })
    }
  })

  it.live("prints an answer that differs from its text below it, and nothing twice", function* () {
    const { accepted, does, start } = yield* startLed
    const run_id = yield* accepted
    yield* does({ seq: 0, text: "I look.\nDone." })
    const first = yield* start("run", "watch", run_id)
    yield* first.waitFor(/Done\./)
    yield* does({ answer: "Fixed." })
    expect(yield* first.ended).toMatchObject({ code: 0, stdout: "I look.\nDone.\n\nFixed.\n" })

    const other = yield* accepted
    yield* does({ seq: 0, text: "I look.\nDone." })
    const second = yield* start("run", "watch", other)
    yield* second.waitFor(/Done\./)
    yield* does({ answer: "Done." })
    expect(yield* second.ended).toMatchObject({ code: 0, stdout: "I look.\nDone.\n" })
  })

  it.live("ends with the exit code and message of the run's end", function* () {
    const { accepted, admin, does, run, start, streaming } = yield* startLed
    const failed = yield* Effect.forkChild(run(...streaming))
    yield* does({ error: "no disk" })
    const { code, stderr } = yield* Fiber.join(failed)
    expect(code).toBe(4)
    expect(stderr).toContain("failed (agent_error): no disk")

    const run_id = yield* accepted
    const cancelled = yield* start("run", "watch", run_id, "--json")
    yield* cancelled.waitFor(/started/)
    yield* admin("POST", `/api/runs/${run_id}/cancel`)
    const end = yield* cancelled.ended
    expect(end.code).toBe(4)
    const events = end.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(events.map(({ event }) => event)).toEqual(["accepted", "started", "cancelled"])
    expect(events[0].data).toEqual({ status: "accepted", run_id })
    expect(JSON.parse(end.stderr).title).toBe(`The run ${run_id} was cancelled`)
  })

  it.live("says after Ctrl-C how to go on watching the run, which continues", function* () {
    const { admin, does, start, stream } = yield* startLed
    const interrupted = yield* stream()
    yield* does({ seq: 0, text: "one" })
    yield* interrupted.waitFor(/one/)
    const { code, stderr } = yield* interrupted.end("SIGINT")
    expect(code).toBe(130)
    const run_id = idIn(stderr)
    expect(stderr).toContain(`The run ${run_id} continues; watch it with webhook-trigger run watch ${run_id}\n`)
    yield* repeatUntil(admin("GET", `/api/runs/${run_id}`), ({ json }) => json.status === "running")
    const again = yield* start("run", "watch", run_id)
    yield* does({ answer: "one two" })
    expect(yield* again.ended).toMatchObject({ code: 0, stdout: "one two\n" })
  })

  it.live("says after Ctrl-C during `trigger --wait` which run continues, and how to watch it", function* () {
    const { admin, does, path, proxy, origin } = yield* startLed
    const words = ["trigger", path.split("/").at(-1)!, "--var", "text=hello", "--wait"]
    const variables = { WEBHOOK_TRIGGER_URL: proxy.through(origin) }
    const { code, stdout } = yield* Program.onTerminal("\x03", words, variables, /Waiting for the run \S+\./)
    expect(code).toBe(130)
    const run_id = idIn(stdout)
    expect(stdout).toContain(`The run ${run_id} continues; watch it with webhook-trigger run watch ${run_id}`)
    yield* does({ seq: 0, text: "one" })
    yield* repeatUntil(admin("GET", `/api/runs/${run_id}`), ({ json }) => json.status === "running")
    yield* does({ answer: "done" })
  })

  it.live("reports a refusal, an unknown run and a request that starts no run", function* () {
    const { run, team, webhook } = yield* startLed
    expect(yield* run("run", "watch", Server.unusedId)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("No run has the id")
    })
    const hook = yield* webhook(yield* team("picky", Server.echo), "{{text}} {{other}}", {
      accept_if: "text == 'yes'"
    })
    const words = ["trigger", hook.path.split("/").at(-1)!, "--stream"]
    expect(yield* run(...words, "--var", "text=yes")).toMatchObject({ code: 1, stdout: "" })
    expect(yield* run(...words, "--var", "text=no")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Ignored")
    })
  })
})
