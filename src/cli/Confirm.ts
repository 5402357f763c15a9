import { createInterface } from "node:readline"
import { Options } from "@effect/cli"
import { Effect } from "effect"
import { exitCodes, Failure, usage } from "./Failure.ts"

export const yes = Options.boolean("yes").pipe(
  Options.withAlias("y"),
  Options.withDescription("Do not ask for confirmation; needed where there is no terminal to ask on")
)

/** A line from the terminal. The question is written to standard error: standard output is for the result, or its JSON. */
const askUser = (question: string): Effect.Effect<string> =>
  Effect.async((resume) => {
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

/** Succeeds only when the user confirms what cannot be undone. */
export const confirm = (isConfirmed: boolean, question: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    if (isConfirmed) return
    if (!(process.stdin.isTTY && process.stderr.isTTY)) {
      return yield* usage("this cannot be undone; where there is no terminal to ask on, it needs --yes")
    }
    const answer = yield* askUser(`${question} [y/N] `)
    if (!/^\s*y(es)?\s*$/i.test(answer)) {
      return yield* new Failure({ exit: exitCodes.refused, title: "Nothing was changed" })
    }
  })
