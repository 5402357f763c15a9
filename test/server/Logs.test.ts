import { Console as NodeConsole } from "node:console"
import { Writable } from "node:stream"
import { Console, Effect } from "effect"
import * as Logs from "../../src/server/Logs.ts"
import { describe, expect, it } from "../support/It.ts"

/** What a stranger may write: a line of its own, and commands for the terminal. */
const hostile = '[12:00:00.000] INFO (#1): "x"\n[12:00:00.000] ERROR (#1): forged\r\u001b[2K\u009b1A\u2028\u202e\0'

const logged = (logFormat: "pretty" | "logfmt" | "json") =>
  Effect.gen(function* () {
    let text = ""
    const stream = new Writable({
      write: (chunk, _, done) => {
        text += chunk
        done()
      }
    })
    yield* Effect.logError(hostile, hostile, new Error(hostile)).pipe(
      Effect.annotateLogs("key", hostile),
      Effect.andThen(Effect.logError("Failed", { cause: hostile })),
      Effect.andThen(Effect.catchCause(Effect.die(new Error(hostile)), (cause) => Effect.logError("Died", cause))),
      Effect.provideService(Console.Console, new NodeConsole(stream, stream)),
      Effect.provide(Logs.layer({ logFormat, logLevel: "Info" }))
    )
    return text
  })

describe("a warning of Node", () => {
  it.live("is a line of the log", function* () {
    let text = ""
    const stream = new Writable({
      write: (chunk, _, done) => {
        text += chunk
        done()
      }
    })
    const printing = process.listeners("warning")
    yield* Effect.callback<void>((resume) => {
      process.once("warning", () => setImmediate(() => resume(Effect.void)))
      process.emitWarning("A library\nwarns")
    }).pipe(
      Effect.provide(Logs.layer({ logFormat: "json", logLevel: "Info" })),
      Effect.provideService(Console.Console, new NodeConsole(stream, stream))
    )
    expect(JSON.parse(text)).toMatchObject({ logLevel: "WARN", message: "Warning: A library\nwarns" })
    expect(process.listeners("warning")).toEqual(printing)
  })
})

describe("a log line cannot be forged by what it contains", () => {
  for (const format of ["logfmt", "json"] as const) {
    it.live(format, () =>
      Effect.gen(function* () {
        const text = yield* logged(format)
        expect(text.trimEnd().split("\n")).toHaveLength(3)
        expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u2028\u202e]/u)
        expect(text).toContain("forged")
        if (format === "json") for (const line of text.trimEnd().split("\n")) JSON.parse(line)
      })
    )
  }

  it.live("pretty", function* () {
    const text = yield* logged("pretty")
    const lines = text.split("\n")
    // What belongs to a line is indented below it.
    expect(lines.filter((line) => /^\[/.test(line))).toHaveLength(3)
    expect(lines.some((line) => /^ +.*forged/.test(line))).toBe(true)
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u2028\u202e]/u)
  })
})
