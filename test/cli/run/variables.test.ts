import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import * as Server from "../../http/Server.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { runWith } from "../CommandLine.ts"
import * as Program from "../Program.ts"

const start = Effect.gen(function* () {
  const server = yield* Server.start()
  yield* server.team("ops")
  yield* server.webhook("ops", "{{text}} {{list.0?}}", { name: "hello" })
  const variables = { ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: server.origin }
  return {
    ...server,
    preview: (...words: ReadonlyArray<string>) => runWith(variables, "webhook", "preview", "hello", ...words)
  }
})

describe("a variable on the command line", () => {
  it.live("is a text, or with @ the text of a file", function* () {
    const { preview } = yield* start
    const folder = yield* temporaryFolder
    writeFileSync(`${folder}/text`, "\ufefftwo\nlines ü\n")
    writeFileSync(`${folder}/json`, '["from a file"]')
    writeFileSync(`${folder}/latin1`, Buffer.from([0xfc]))
    expect((yield* preview("--var", `text=@${folder}/text`)).stdout).toBe("two\nlines ü\n \n")
    expect((yield* preview("--var", "text=a", "--json-var", `list=@${folder}/json`)).stdout).toBe("a from a file\n")
    expect((yield* preview("--var", "text=@@me and @you")).stdout).toBe("@me and @you \n")
    for (const [value, says] of [
      [
        "--var=text=@/none/such",
        '--var text: cannot read the file "/none/such"; for a text that begins with @, write @@'
      ],
      [`--var=text=@${folder}/latin1`, "is not UTF-8"],
      [`--json-var=text=@${folder}/text`, `--json-var text is not JSON: "@${folder}/text"`]
    ] as const) {
      const { code, stderr, stdout } = yield* preview(value)
      expect({ code, stdout }, value).toEqual({ code: 2, stdout: "" })
      expect(stderr).toContain(says)
    }
  })

  it.live("is a number as it was written", function* () {
    const { admin, origin, team, webhook } = yield* Server.start()
    const { id, path } = yield* webhook(yield* team("ops"), "{{text}}", { name: "hello" })
    const variables = { ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: origin }
    const run = (...words: ReadonlyArray<string>) => runWith(variables, ...words)
    for (const number of ["820982911946154508", "1.10"]) {
      const json = `text={"n":${number}}`
      expect((yield* run("webhook", "preview", "hello", "--json-var", json)).stdout).toBe(`{"n":${number}}\n`)
      const answer = yield* run("trigger", `${origin}${path}`, "--wait", "--json-var", json)
      expect(answer.stdout).toBe(`echo: {"n":${number}}\n`)
      const { json: runs } = yield* admin("GET", `/api/webhooks/${id}/runs?limit=1`)
      for (const more of [[], ["--json"]]) {
        expect((yield* run("run", "show", runs.data[0].run_id, ...more)).stdout).toContain(`"n": ${number}\n`)
      }
    }
  })

  it.live("is read from standard input with @-", function* () {
    const { origin } = yield* start
    const program = `ADMIN_API_KEY=${Server.adminKey} '${process.execPath}' '${Program.program}'`
    const line = `printf 'piped' | ${program} --url ${origin} webhook preview hello --var text=@-`
    expect(yield* Program.shell(line)).toEqual({ code: 0, stdout: "piped \n", stderr: "" })
  })
})
