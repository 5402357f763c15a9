import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { repeatUntil } from "../support/Until.ts"
import { refusedLeader, runWith } from "./CommandLine.ts"
import * as Program from "./Program.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"

/** A server on PostgreSQL and RabbitMQ, and the commands of its user. */
const production = Effect.gen(function* () {
  const AMQP_URL = yield* freshVhost
  const server = yield* Program.serve({ DATABASE_URL: yield* freshDatabase, AMQP_URL, ADMIN_API_KEY })
  const run = (...words: ReadonlyArray<string>) => runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url }, ...words)
  const json = (...words: ReadonlyArray<string>) =>
    Effect.map(run(...words, "--json"), ({ stderr, stdout }) => {
      expect(stderr, words.join(" ")).toBe("")
      return JSON.parse(stdout)
    })
  const connected = (team: string) =>
    repeatUntil(json("team", "show", team), ({ running }: { running: boolean }) => running)
  return { AMQP_URL, server, run, json, connected }
})

describe("the leader command with a real program", () => {
  it.live(
    "takes the program's output as the answer, and ends the run as an error or a timeout when it fails or is slow",
    function* () {
      const { AMQP_URL, connected, json, run, server } = yield* production
      expect(server.welcome()).not.toContain("trying out")
      yield* json("team", "create", "shell")

      const early = yield* run("team", "message", "shell", "too early")
      expect(early.code).toBe(1)
      expect(early.stderr).toContain("shell")

      // The prompt is a script for the shell: any program, any end.
      const leader = yield* Program.lead(
        ["--team", "shell", "--timeout", "120", "--", "/bin/sh", "-s", "--", "--json", "a b"],
        {
          AMQP_URL
        }
      )
      yield* connected("shell")
      const { token, webhook } = yield* json(
        ...["webhook", "create", "--name", "script", "--team", "shell", "--template", "{{script}}", "--timeout", "60"]
      )
      const trigger = (script: string) => run("trigger", token, "--wait", "--var", `script=${script}`)

      expect(yield* trigger("printf '%s|' \"$@\"")).toMatchObject({ code: 0, stdout: "--json|a b|\n" })

      const failed = yield* trigger("echo partial; echo no such branch >&2; exit 3")
      expect(failed).toMatchObject({ code: 4, stdout: "" })
      expect(failed.stderr).toContain("no such branch")

      // Time enough for the prompt to reach the leader. The program ends before the leader is stopped.
      yield* json("webhook", "edit", "script", "--timeout", "15")
      const go = yield* Program.newFolder
      const late = yield* trigger(`until test -e '${go}'; do sleep 0.05; done; echo done`)
      writeFileSync(go, "")
      expect(late).toMatchObject({ code: 5, stdout: "" })
      expect(late.stderr).toMatch(/webhook-trigger run show [0-9a-f-]{36}/)

      const page = yield* json("run", "list", webhook.id)
      expect(page.data.map(({ status }: { status: string }) => status)).toEqual(["timeout", "error", "success"])

      const { code, stderr: log } = yield* leader.end("SIGTERM")
      expect(code).toBe(0)
      // The log says where it listens, and how each run ended; it holds no prompt.
      expect(log).toContain("team.shell at 127.0.0.1:")
      const ends = log.split("\n").filter((line) => line.includes("Prompt finished"))
      expect(ends).toHaveLength(3)
      for (const [index, outcome] of ["answered", "failed", "answered"].entries()) {
        expect(ends[index]).toContain(`run_id=${page.data[2 - index].run_id}`)
        expect(ends[index]).toContain(`outcome=${outcome}`)
        expect(ends[index]).toMatch(/duration_ms=\d+/)
      }
      for (const script of ["printf", "partial", "echo done"]) expect(log).not.toContain(script)
      expect((yield* server.end("SIGTERM")).code).toBe(0)
      expect(server.log() + leader.log()).not.toContain(token)
    }
  )

  it.live("reports a missing broker, an invalid setting or a missing program and does not start", function* () {
    const start = (variables: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
      refusedLeader(variables, "--team", "a", ...words)
    const AMQP_URL = "amqp://127.0.0.1:9"
    for (const [ended, says] of [
      [yield* start({}, "--", "true"), "AMQP_URL"],
      [yield* start({ AMQP_URL: "localhost" }, "--", "true"), "AMQP_URL"],
      [yield* start({ AMQP_URL, AMQP_QUEUE_TYPE: "fast" }, "--", "true"), "AMQP_QUEUE_TYPE"],
      [yield* start({ AMQP_URL }, "--", "no-such-program"), "no-such-program"]
    ] as const) {
      expect(ended, says).toMatchObject({ code: 2, stdout: "" })
      expect(ended.stderr).toContain(says)
    }
  })
})
