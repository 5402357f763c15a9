/** E-mail destinations in a configuration file. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { parse } from "yaml"
import { headerOf, mailServer, type ReceivedMail } from "../../support/MailServer.ts"
import { runWith } from "../CommandLine.ts"
import * as Program from "../Program.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"

const scope = Effect.runSync(Scope.make())
let server: Program.Server
let folder: string
let received: ReadonlyArray<ReceivedMail>

beforeAll(async () => {
  const start = Effect.gen(function* () {
    folder = yield* Program.newFolder
    const mail = yield* mailServer({ tls: "off" })
    received = mail.received
    const settings = { SMTP_URL: mail.url, SMTP_FROM: "hooks@sender.example" }
    return yield* Program.serve({ DATA_DIR: folder, ADMIN_API_KEY, ...settings })
  })
  server = await Effect.runPromise(Scope.extend(start, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const run = (...words: ReadonlyArray<string>) => runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url }, ...words)

const file = (target: string, ...more: ReadonlyArray<string>): string => {
  const path = join(folder, "mail.yaml")
  const lines = [
    ...["webhooks:", "  - name: nightly", "    team: demo", "    prompt_template: Build it."],
    ...["    destinations:", "      - kind: email", `        target: ${target}`, ...more]
  ]
  writeFileSync(path, `${lines.join("\n")}\n`)
  return path
}

const destinations = Effect.suspend(() =>
  Effect.map(run("destination", "list", "nightly", "--json"), ({ stdout }) => JSON.parse(stdout))
)

describe("an e-mail destination in a configuration file", () => {
  it.live("is created, sends, is changed in its place, exported and deleted", () =>
    Effect.gen(function* () {
      const path = file("ops@example.com, qa@example.com", "        description: on call")
      expect((yield* run("diff", "-f", path)).code).toBe(6)
      expect(yield* run("apply", "-f", path, "--yes")).toMatchObject({ code: 0, stderr: "" })
      const [{ id, ...created }] = yield* destinations
      expect(created).toMatchObject({
        ...{ kind: "email", url: "mailto:…", target: "ops@example.com, qa@example.com", body: "full" },
        description: "on call"
      })
      expect((yield* run("diff", "-f", path)).code).toBe(0)
      expect((yield* run("destination", "test", "nightly", id)).stdout).toMatch(/^Delivered: status 250/)
      expect(received.map(({ to }) => to)).toEqual([["ops@example.com", "qa@example.com"]])
      expect(headerOf(received[0]!, "from")).toEqual(["hooks@sender.example"])

      // The description says which destination is meant, so it keeps its ID.
      const changed = file("ops@example.com", "        description: on call", "        events: [run.failed]")
      const shown = (yield* run("diff", "-f", changed)).stdout
      expect(shown).toContain("qa@example.com")
      expect(yield* run("apply", "-f", changed, "--yes")).toMatchObject({ code: 0, stderr: "" })
      expect(yield* destinations).toMatchObject([{ id, target: "ops@example.com", events: ["run.failed"] }])

      const exported = join(folder, "exported.yaml")
      yield* run("export", "nightly", "--output", exported)
      const { webhooks } = parse(readFileSync(exported, "utf8"))
      expect(webhooks[0].destinations).toEqual([
        { kind: "email", target: "ops@example.com", description: "on call", events: ["run.failed"] }
      ])
      expect((yield* run("diff", "-f", exported)).code).toBe(0)
    })
  )

  it.live("is refused with its line if an address is wrong, or a field is of another kind", () =>
    Effect.gen(function* () {
      const wrong = yield* run("diff", "-f", file("not-an-address"))
      expect(wrong.code).toBe(2)
      expect(wrong.stderr).toMatch(/mail\.yaml:7 .*destinations\[0\]\.target .*"not-an-address" is not an address/)
      const token = yield* run("diff", "-f", file("ops@example.com", "        token_env: HOME"))
      expect(token.stderr).toContain("is not a field of the kind email")
    })
  )
})
