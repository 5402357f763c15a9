import { createInterface } from "node:readline"
import { Effect } from "effect"
import { Flag } from "effect/cli"
import { exitCodes, Failure, usage } from "./Failure.ts"

export const yes = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask for confirmation; required without a terminal")
)

/** Reads a line from the terminal. The question goes to standard error, because standard output is for the result. */
const askUser = (question: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
    let answer = ""
    terminal.once("line", (line) => {
      answer = line
      terminal.close()
    })
    terminal.once("close", () => resume(Effect.succeed(answer)))
    terminal.setPrompt(question)
    terminal.prompt()
    return Effect.sync(() => terminal.close())
  })

/** Succeeds only if the user confirms. */
export const confirm = (isConfirmed: boolean, question: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    if (isConfirmed) return
    if (!(process.stdin.isTTY && process.stderr.isTTY)) {
      return yield* usage("this cannot be undone; without a terminal it requires --yes")
    }
    const answer = yield* askUser(`${question} [y/N] `)
    if (!/^\s*y(es)?\s*$/i.test(answer)) {
      return yield* new Failure({ exit: exitCodes.refused, title: "Nothing was changed" })
    }
  })
