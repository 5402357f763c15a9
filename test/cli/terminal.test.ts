/** What commands print on a terminal, and into a pipe. */

import { Effect } from "effect"
import * as Server from "../http/Server.ts"
import { describe, expect, it } from "../support/It.ts"
import * as Program from "./Program.ts"

const start = Effect.gen(function* () {
  const server = yield* Server.start()
  yield* server.team("a-team-with-a-long-name")
  const hook = yield* server.webhook("a-team-with-a-long-name", "{{text}}", {
    name: "Review of every pull request, with all that changed"
  })
  const post = (text: string) => server.http("POST", `${hook.path}?wait=true`, { body: { variables: { text } } })
  const variables = { ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: server.origin }
  return { ...server, post, variables }
})

const length = (line: string) => [...line].length

describe("a table on a terminal", () => {
  it.live("has short IDs, ages instead of times, and states in colour unless NO_COLOR is set", function* () {
    const { post, variables } = yield* start
    const { run_id } = (yield* post("hello")).json
    const first = (words: ReadonlyArray<string>, more: Readonly<Record<string, string>>, line: number) =>
      Effect.map(
        Program.onWideTerminal(300, words, { ...variables, TERM: "xterm-256color", ...more }),
        ({ stdout }) => stdout.split("\r\n")[line]!
      )
    const row = new RegExp(`^(\\S+) +hello +${run_id.slice(-8)} +(just now|\\d+ s ago) +Review of `)
    expect(row.exec(yield* first(["run", "list"], {}, 1))?.[1]).toBe("\u001b[32msuccess\u001b[0m")
    expect(row.exec(yield* first(["run", "list"], { NO_COLOR: "1" }, 1))?.[1]).toBe("success")
    expect(yield* first(["run", "show", run_id.slice(-8)], {}, 1)).toBe("status    \u001b[32msuccess\u001b[0m")
    expect(yield* first(["team", "show", "a-team-with-a-long-name"], {}, 5)).toMatch(
      /^created +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \((just now|\d+ s ago)\)$/
    )
  })

  it.live("has the terminal's width: it cuts long cells, and names the columns that it leaves out", function* () {
    const { post, variables } = yield* start
    const { run_id } = (yield* post("Say hello to everybody")).json
    const list = (columns: number) =>
      Effect.map(Program.onWideTerminal(columns, ["run", "list"], { ...variables, NO_COLOR: "1" }), ({ stdout }) =>
        stdout.trimEnd().split("\r\n")
      )
    const narrow = yield* list(80)
    expect(narrow[0]).toMatch(/^STATUS +TITLE +RUN +ACCEPTED +WEBHOOK +TEAM$/)
    expect(narrow[1]).toMatch(
      new RegExp(`^success +Say hello to.*… +${run_id.slice(-8)} +(just now|\\d+ s ago) +Review.*… +a-team.*…$`)
    )
    expect(narrow.at(-1)).toBe("Too wide for this terminal: DURATION, ERROR, MODE")
    const wide = yield* list(120)
    expect(wide[0]).toMatch(/^STATUS +TITLE +RUN +ACCEPTED +WEBHOOK +TEAM +DURATION +ERROR +MODE$/)
    expect(wide[1]).toContain("…")
    const full = yield* list(300)
    expect(full[1]).toMatch(
      / Review of every pull request, with all that changed +a-team-with-a-long-name +(\d+ ms|\d+\.\d s) +wait$/
    )
    for (const [width, lines] of [
      [80, narrow],
      [120, wide]
    ] as const) {
      for (const line of lines) expect(length(line)).toBeLessThanOrEqual(width)
    }
  })
})

describe("an export into a pipe", () => {
  it.live("ends quietly when the reader has read enough", function* () {
    const { origin, post } = yield* start
    for (let n = 0; n < 8; n++) yield* post("x".repeat(100_000))
    const program = `ADMIN_API_KEY=${Server.adminKey} '${process.execPath}' '${Program.program}' --url ${origin}`
    const ended = yield* Program.shell(`{ ${program} run export; echo "exit code $?" >&2; } | head -c 100`)
    expect(ended.stdout).toHaveLength(100)
    expect(ended.stderr).toBe("exit code 0\n")
  })
})
