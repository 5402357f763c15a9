/** How the words of a command line are read. No command gets as far as a request. */
import { describe, expect, it } from "../support/It.ts"
import { runWith } from "./CommandLine.ts"

const run = (...words: ReadonlyArray<string>) => runWith({ WEBHOOK_TRIGGER_URL: "http://127.0.0.1:9" }, ...words)

/** The command was understood: it found no server. */
const understood = { code: 3, stdout: "" }

const create = ["webhook", "create", "--name", "x", "--team", "a"]

describe("the words of a command line", () => {
  it.effect("name a command, and a wrong name is answered with the similar one", function* () {
    for (const [words, says] of [
      [["frob"], 'Wrong usage; see webhook-trigger --help\n  Unknown subcommand "frob" for "webhook-trigger"\n'],
      [
        ["webhook", "lst"],
        'Did you mean list? Unknown subcommand "lst" for "webhook-trigger webhook"\nSee webhook-trigger webhook --help\n'
      ],
      [["team", "message", "--help"], undefined]
    ] as const) {
      const { code, stderr } = yield* run(...words)
      expect(code, words.join(" ")).toBe(says === undefined ? 0 : 2)
      expect(stderr).toContain(says ?? "")
    }
  })

  it.effect("name options, and all wrong ones are reported, each with the similar one", function* () {
    for (const [words, ...faults] of [
      [
        ["team", "list", "--jsn", "--frob"],
        "Did you mean --json? Unrecognized flag: --jsn",
        "Unrecognized flag: --frob"
      ],
      [["run", "show", "--frob"], "Unrecognized flag: --frob", "Missing required argument: run-id"],
      [
        ["webhook", "create", "--nam", "x", "--team", "a", "--templat", "x"],
        "Did you mean --name? Unrecognized flag: --nam",
        "Did you mean --template? Unrecognized flag: --templat"
      ],
      [["team", "list", "-x"], "Unrecognized flag: -x"],
      [["team", "delete", "a", "--yes", "--frob"], "Unrecognized flag: --frob"],
      [
        ["team", "list", "--frob", "--url", "nowhere"],
        "Unrecognized flag: --frob",
        "--url or WEBHOOK_TRIGGER_URL must be an address such as http://localhost:8080"
      ],
      [
        ["team", "message", "a", "b", "--frob", "--wit"],
        "Did you mean --wait? Unrecognized flag: --wit",
        "Unrecognized flag: --frob"
      ],
      [
        ["webhook", "create", "--frob", "--nam", "x", "--xyz"],
        "Did you mean --from? Unrecognized flag: --frob",
        "Did you mean --name? Unrecognized flag: --nam",
        "Unrecognized flag: --xyz",
        "missing option --team name",
        "missing option --template text or --template-file file"
      ]
    ] as const) {
      const { code, stderr } = yield* run(...words)
      expect(code).toBe(2)
      const help = `webhook-trigger ${words.slice(0, 2).join(" ")} --help`
      // What was probably meant comes first.
      const lines = faults[0].startsWith("Did you mean")
        ? [...faults, `See ${help}`]
        : [`Wrong usage; see ${help}`, ...faults.map((fault) => `  ${fault}`)]
      expect(stderr).toBe(`${lines.join("\n")}\n`)
    }
    const before = yield* run("--adminkey", "x", "team", "list")
    expect(before).toMatchObject({ code: 2, stderr: expect.stringContaining("Unrecognized flag: --adminkey\n") })
  })

  it.effect("are told all that is missing, superfluous or given twice, at once", function* () {
    for (const [words, ...faults] of [
      [
        ["webhook", "create"],
        "missing option --name text",
        "missing option --team name",
        "missing option --template text or --template-file file"
      ],
      [["team", "message"], "missing argument <team>", "missing argument <text>"],
      [["run", "cancel"], "Missing required argument: run-id"],
      [["run", "list", "--status"], "Missing value for flag --status. Expected: states"],
      [["run", "list", "--status", "--limit", "3"], "Missing value for flag --status. Expected: states"],
      [["team", "show", "a", "b", "c"], 'Unexpected positional arguments: "b", "c"'],
      [["serve", "--", "x"], 'Unexpected positional argument: "x"'],
      [
        [...create, "--team", "b", "--template", "x", "--template-file", "y"],
        "--team may be given only once",
        "use either --template or --template-file, not both"
      ]
    ] as const) {
      const { code, stderr, stdout } = yield* run(...words)
      expect({ code, stdout }, words.join(" ")).toEqual({ code: 2, stdout: "" })
      expect(stderr.split("\n").slice(1, -1), words.join(" ")).toEqual(faults.map((fault) => `  ${fault}`))
    }
    const asJson = JSON.parse((yield* run("run", "show", "--frob", "--from", "--json")).stderr)
    expect(asJson.errors).toHaveLength(3)
  })

  it.effect("may have the options of the server before the command, and between its names", function* () {
    for (const words of [
      ["--json", "team", "list"],
      ["--url", "http://127.0.0.1:9", "team", "--admin-key=x", "list"],
      ["--json", "help", "team", "list"]
    ]) {
      expect((yield* run(...words)).stderr, words.join(" ")).not.toContain("usage")
    }
    const before = yield* run("--url", "http://127.0.0.1:8", "--json", "team", "list")
    expect(JSON.parse(before.stderr).title).toContain("http://127.0.0.1:8")
    expect((yield* run("--admin-key", "x", "trigger", "whk_x")).stderr).toContain("Unrecognized flag: --admin-key")
  })

  it.effect("are taken as they are: a value may look like anything, and an argument like a value", function* () {
    for (const words of [
      ["team", "message", "a", "- a list", "--wait"],
      ["team", "message", "--wait", "a", "yes"],
      ["team", "message", "a", "--wait", "--", "--frob"],
      [...create, "--template=two\nlines"],
      ["team", "message", "a", "--wait", "yes"],
      [...create, "--template", "--frob", "--json", "--json"],
      ["run", "list", "--status=error", "--limit", "3"]
    ]) {
      const { stderr, ...ended } = yield* run(...words)
      expect(ended, stderr).toEqual(understood)
    }
  })

  it.effect("for a program stand after --", function* () {
    expect((yield* run("leader", "--team", "a", "cat")).stderr).toContain("put the program after --")
    expect((yield* run("leader", "--team", "a", "cat", "--", "x")).stderr).toContain("put the program after --")
    expect((yield* run("doctor", "--agent", "openai", "x")).code).toBe(2)
    expect((yield* run("leader", "--team", "a", "--", "cat", "--frob")).code).toBe(0)
  })

  it.effect("name the token of a trigger, or the environment does", function* () {
    const says = "a token (whk_…) is required, as an argument or in WEBHOOK_TOKEN"
    expect((yield* run("trigger", "x")).stderr).toContain(says)
    expect((yield* run("trigger", "--var", "a=b")).stderr).toContain(says)
  })
})
