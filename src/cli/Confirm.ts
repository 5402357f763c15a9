import { createInterface } from "node:readline"
import { Options } from "@effect/cli"
import { Effect } from "effect"
import { exitCodes, Failure, usage } from "./Failure.ts"

export const yes = Options.boolean("yes").pipe(
  Options.withAlias("y"),
  Options.withDescription("Do not ask; needed where there is no terminal to ask on")
)

/** A line from the terminal. The question stands on standard error: standard output is for the answer, or its JSON. */
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

/** Goes on with what cannot be undone only when the user wants it. */
export const confirm = (isSure: boolean, question: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    if (isSure) return
    if (!(process.stdin.isTTY && process.stderr.isTTY)) {
      return yield* usage("this cannot be undone; where there is no terminal to ask on, it needs --yes")
    }
    const answer = yield* askUser(`${question} [y/N] `)
    if (!/^\s*y(es)?\s*$/i.test(answer)) {
      return yield* new Failure({ exit: exitCodes.refused, title: "Nothing is changed" })
    }
  })
