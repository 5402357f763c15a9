/** The completion scripts, in the shells that are installed. bash always is. */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { runWith } from "../CommandLine.ts"

interface Shell {
  readonly name: "bash" | "zsh" | "fish"
  /** Starts it without anybody's settings. */
  readonly options: ReadonlyArray<string>
  /** Prints what the shell offers for the last word, one per line, perhaps with its meaning. */
  readonly complete: (script: string, words: ReadonlyArray<string>) => string
}

const quoted = (words: ReadonlyArray<string>) => words.map((word) => `'${word}'`).join(" ")

const shells: ReadonlyArray<Shell> = [
  {
    name: "bash",
    options: ["--norc", "--noprofile"],
    complete: (script, words) =>
      `source '${script}'; COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; COMP_LINE='${words.join(" ")}'
      $(complete -p webhook-trigger | sed 's/.*-F \\([^ ]*\\).*/\\1/') webhook-trigger ${quoted(words.slice(-2).reverse())}; printf '%s\\n' "\${COMPREPLY[@]}"`
  },
  {
    name: "zsh",
    options: ["-f"],
    // Its own functions for the last step work only in an editor of lines.
    complete: (script, words) =>
      `compdef() { :; }; source '${script}'
      _describe() { print -rl -- "\${(@P)@[-1]}"; }; _files() { print -rl -- *(N); }; compadd() { shift; print -rl -- "$@"; }
      words=(${quoted(words)}); CURRENT=${words.length}; _webhook_trigger`
  },
  {
    name: "fish",
    options: ["--no-config"],
    complete: (script, words) => `source '${script}'; complete -C '${words.join(" ")}'`
  }
]

const isInstalled = ({ name }: Shell) => spawnSync(name, ["--version"]).status === 0

describe("completion", () => {
  it("is tested in bash at least", () => {
    expect(shells.filter(isInstalled).map(({ name }) => name)).toContain("bash")
  })

  for (const shell of shells.filter(isInstalled)) {
    it.live(`offers commands, options, choices and files in ${shell.name}`, function* () {
      const folder = yield* temporaryFolder
      const { code, stdout } = yield* runWith({}, "completion", shell.name)
      expect(code).toBe(0)
      const script = join(folder, "script")
      writeFileSync(script, stdout)
      writeFileSync(join(folder, "config.yaml"), "")
      /** Without meanings, and what begins otherwise: zsh itself leaves that out. */
      const offered = (...words: ReadonlyArray<string>) => {
        const line = shell.complete(script, ["webhook-trigger", ...words])
        const { status, stderr, stdout } = spawnSync(shell.name, [...shell.options, "-c", line], {
          cwd: folder,
          encoding: "utf8"
        })
        expect([status, stderr]).toEqual([0, ""])
        const all = stdout.split("\n").map((text) => text.split(/\t|(?<=^[\w-]+):/)[0]!)
        return all.filter((text) => text !== "" && text.startsWith(words.at(-1)!)).sort()
      }
      expect(offered("")).toEqual(expect.arrayContaining(["apply", "completion", "serve", "team", "webhook"]))
      expect(offered("webhook", "re")).toEqual(["recipes", "refused", "regenerate", "replay", "restore", "resume"])
      expect(offered("--json", "--url", "http://x", "team", "br")).toEqual(["broker-rights"])
      expect(offered("team", "leader-key", "")).toEqual(["create", "list", "revoke"])
      expect(offered("team", "list", "--j")).toEqual(["--json"])
      expect(offered("webhook", "show", "x", "--pro")).toEqual(["--profile"])
      expect(offered("leader", "--output", "")).toEqual(["json-lines", "text"])
      expect(offered("apply", "--file", "con")).toEqual(["config.yaml"])
      expect(offered("team", "list", "")).toEqual([])
      expect(offered("webhook", "create", "--name", "")).toEqual([])
    })
  }

  it.effect("refuses a shell that it does not know, and names the others", function* () {
    const { code, stderr } = yield* runWith({}, "completion", "tcsh")
    expect([code, stderr]).toEqual([2, expect.stringMatching(/bash[\s\S]*zsh[\s\S]*fish/)])
  })
})
