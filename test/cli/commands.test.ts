import { Effect } from "effect"
import { sorted } from "../http/Client.ts"
import { describe, expect, it } from "../support/It.ts"
import * as Program from "./Program.ts"
import { ADMIN_API_KEY, sharedServer } from "./SharedServer.ts"

const { address, json, run, runAt } = sharedServer()

describe("the command line", () => {
  it.live(
    "asks for confirmation on a terminal before what cannot be undone, and requires --yes without one",
    function* () {
      const variables = { ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: address() }
      yield* json("team", "create", "doomed")
      const { token } = yield* json("webhook", "create", "--name", "doomed", "--team", "doomed", "--template", "x")
      const isThere = Effect.map(json("webhook", "list"), ({ data }) =>
        data.some(({ name }: { name: string }) => name === "doomed")
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
    }
  )

  it.live("prints its version", function* () {
    for (const words of ["--version", "-v", "version"]) {
      expect(yield* run(words)).toEqual({ code: 0, stdout: "1.2.3\n", stderr: "" })
    }
  })

  it.live("says what to do next when it is called without a word: by the server that it finds", function* () {
    for (const [variables, about, first] of [
      [{ WEBHOOK_TRIGGER_URL: "http://127.0.0.1:9" }, "No response from a server at http://127.0.0.1:9 ", "serve"],
      [{ ADMIN_API_KEY: "" }, `The server at ${address()} runs.`, "login"],
      [{}, `Signed in to ${address()} with the admin key, role admin.`, "team list"]
    ] as const) {
      const { code, stderr, stdout } = yield* runAt(variables)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const lines = stdout.trimEnd().split("\n")
      expect(lines.length).toBeLessThanOrEqual(12)
      expect(lines[0]).toContain(about)
      expect(lines.find((line) => line.startsWith("  "))).toMatch(
        new RegExp(`^ {2}(webhook-trigger|node .*) ${first}$`)
      )
      expect(lines.at(-1)).toMatch(/^All commands: .* --help$/)
    }
  })

  it.live("explains every command and each of its options, and lists each group's commands", function* () {
    const overview = yield* run("--help")
    expect(overview.stdout).toContain("USAGE\n  webhook-trigger <subcommand> [flags]")
    for (const words of [["-h"], ["help"]]) expect(yield* run(...words)).toEqual(overview)
    /** The sections of a help text, by their titles. */
    const sectionsOf = (help: string) => new Map(help.split(/\n\n(?=\S)/).map((text) => [text.split("\n")[0]!, text]))
    const named = (text: string) => [...text.matchAll(/^ {2}(\S+) {2,}\S/gm)].map(([, name]) => name!)
    const sections = sectionsOf(overview.stdout)
    const groups = named(sections.get("Groups of commands:")!)
    const commands = named(sections.get("Other commands:")!).map((name) => [name])
    for (const group of groups) {
      const { stdout } = yield* run(group)
      expect(stdout).toContain(`USAGE\n  webhook-trigger ${group} <subcommand> [flags]`)
      expect((yield* run(group, "--help")).stdout).toBe(stdout)
      expect((yield* run("help", group)).stdout).toBe(stdout)
      for (const name of named(sectionsOf(stdout).get("SUBCOMMANDS")!)) {
        const below = yield* run(group, name, "--help")
        const list = sectionsOf(below.stdout).get("SUBCOMMANDS")
        commands.push(...(list === undefined ? [[group, name]] : named(list).map((last) => [group, name, last])))
      }
    }
    const names = commands.map((words) => words.join(" "))
    // Completion offers exactly these, and the groups.
    const script = (yield* run("completion", "fish")).stdout
    const offered = [...script.matchAll(/ -n '([^']*)' -f -a '([a-z]\S*)' -d /g)].map(([, under = "", name]) => {
      const groups = [...under.matchAll(/(?<!not )__fish_seen_subcommand_from (\S+);/g)].map(([, group]) => group)
      return [...groups, name].join(" ")
    })
    const isGroup = (name: string) => offered.some((other) => other.startsWith(`${name} `))
    expect(offered.length).toBeGreaterThan(100)
    expect(sorted(names)).toEqual(sorted(offered.filter((name) => !isGroup(name))))
    // The first steps are commands, too.
    for (const [, words] of sections.get("EXAMPLES")!.matchAll(/^ {2}webhook-trigger ([a-z][a-z ]*[a-z])/gm)) {
      expect(
        names.some((name) => `${words} `.startsWith(`${name} `)),
        words
      ).toBe(true)
    }

    for (const words of commands) {
      const { code, stdout } = yield* run(...words, "--help")
      expect(code).toBe(0)
      expect(stdout).toContain(`USAGE\n  webhook-trigger ${words.join(" ")}`)
      expect(stdout).not.toContain("\u001b")
      // A name, and its meaning.
      const [explained = ""] = stdout.split("\nEXAMPLES\n")
      for (const line of explained.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80)
      const [, options = ""] = explained.split("\nFLAGS\n")
      const flags = options
        .replaceAll(/\n {30}/g, "  ")
        .split("\n")
        .filter((line) => /^ {2}-/.test(line))
      for (const line of flags) expect(line).toMatch(/^ {2}-\S+( \S+)* {2,}\S/)
      expect((yield* run("help", ...words)).stdout).toBe(stdout)
    }
    expect((yield* run("leader", "--help")).stdout).toContain("leader [flags] [<program...>]\n")
    const help = (yield* run("webhook", "create", "--help")).stdout
    expect(help.replace(/\s+/g, " ")).toContain(
      "Requires --team, and --from or both --name and a prompt (--template or --template-file)."
    )
    expect(help).toMatch(/--template-file file +A file[\s\S]*EXAMPLES\n {2}webhook-trigger webhook create --from/)
  })
})
