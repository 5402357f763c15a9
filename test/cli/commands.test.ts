import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Program from "./Program.ts"
import { ADMIN_API_KEY, sharedServer } from "./SharedServer.ts"

const { address, json, run } = sharedServer()

describe("the command line", () => {
  it.live("asks for confirmation on a terminal before what cannot be undone, and requires --yes without one", () =>
    Effect.gen(function* () {
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
    })
  )

  it.live("prints its version", () =>
    Effect.gen(function* () {
      for (const words of ["--version", "-v", "version"]) {
        expect(yield* run(words)).toEqual({ code: 0, stdout: "1.2.3\n", stderr: "" })
      }
    })
  )

  it.live("explains every command and each of its options, and lists each group's commands", () =>
    Effect.gen(function* () {
      const overview = yield* run()
      expect(overview.stdout).toContain("Usage: webhook-trigger <command> [options]")
      for (const words of [["--help"], ["-h"], ["help"]]) expect(yield* run(...words)).toEqual(overview)
      const named = (text: string) =>
        [...text.matchAll(/^ {2}(\S+(?: \S+)*?) {2,}\S/gm)].map(([, words]) => words!.split(" "))
      const [, start, groups, others] = overview.stdout.split(/\n\n(?:Start here|Groups of commands|Other commands):\n/)
      const commands = named(others!)
      for (const [group] of named(groups!)) commands.push(...named((yield* run(group!)).stdout))
      expect(commands).toHaveLength(106)
      // The first steps are commands, too.
      for (const words of named(start!)) {
        expect(commands.map((command) => command.join(" "))).toContain(
          words.slice(0, ["webhook", "run"].includes(words[0]!) ? 2 : 1).join(" ")
        )
      }

      for (const group of ["team", "webhook", "run", "session"]) {
        const { stdout } = yield* run(group)
        expect(stdout).toContain(`Usage: webhook-trigger ${group} <command> [options]`)
        for (const words of commands) {
          expect(stdout.includes(`\n  ${words.join(" ")} `), words.join(" ")).toBe(words[0] === group)
        }
        expect((yield* run(group, "--help")).stdout).toBe(stdout)
        expect((yield* run("help", group)).stdout).toBe(stdout)
      }

      for (const words of commands) {
        const { code, stdout } = yield* run(...words, "--help")
        expect(code).toBe(0)
        expect(stdout).toContain(`Usage: webhook-trigger ${words.join(" ")}`)
        expect(stdout).not.toContain("\u001b")
        for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(110)
        // A name, and its meaning.
        const options = stdout.split("\n").filter((line) => /^ {2}-/.test(line))
        for (const line of options) expect(line).toMatch(/^ {2}-\S+( \S+)* {2,}\S/)
        expect((yield* run("help", ...words)).stdout).toBe(stdout)
      }
      expect((yield* run("leader", "--help")).stdout).toContain("leader [options] -- <program>...\n")
      const help = (yield* run("webhook", "create", "--help")).stdout
      expect(help.replace(/\s+/g, " ")).toContain(
        "Requires --team, and --from or both --name and a prompt (--template or --template-file)."
      )
      expect(help).toMatch(/--template-file file +A file[\s\S]*Examples:\n {2}webhook-trigger webhook create --from/)
    })
  )
})
