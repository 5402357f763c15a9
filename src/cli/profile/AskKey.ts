/** The key that a user types or that comes from a file. */
import { createInterface } from "node:readline"
import { Writable } from "node:stream"
import { Effect } from "effect"
import { type Failure, usage } from "../Failure.ts"

/** Reads a line from the terminal without showing it. The question goes to standard error. */
const hiddenLine = (question: string): Effect.Effect<string> =>
  Effect.async((resume) => {
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    // Node switches the terminal's echo off before it asks.
    const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
    let answer = ""
    terminal.once("line", (line) => {
      answer = line
      terminal.close()
    })
    // Without the terminal's own handling of keys, Ctrl-C is only a character.
    terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"))
    terminal.once("close", () => {
      process.stderr.write("\n")
      resume(Effect.succeed(answer))
    })
    process.stderr.write(question)
    return Effect.sync(() => terminal.close())
  })

export const askKey = (url: string): Effect.Effect<string, Failure> =>
  process.stdin.isTTY && process.stderr.isTTY
    ? hiddenLine(`Key for ${url}: `)
    : Effect.fail(usage("without a terminal, use --key-file FILE, or --key-file - for standard input"))
