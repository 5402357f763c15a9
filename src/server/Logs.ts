/** Logging and its settings, for the server and for leaders. `docs/reference/settings.md` explains the settings. */
import { inspect } from "node:util"
import {
  Cause,
  Effect,
  type Fiber,
  FiberSet,
  Formatter,
  Layer,
  Logger,
  type LogLevel,
  Record,
  Redactable,
  References
} from "effect"
import { oneOf, type Values, withDefault, wordFor } from "../settings/EnvironmentVariable.ts"

const logLevels = wordFor<LogLevel.LogLevel>({
  ...{ trace: "Trace", debug: "Debug", info: "Info", warn: "Warn" },
  ...{ warning: "Warn", error: "Error", fatal: "Fatal", none: "None" }
})

export const settings = {
  logLevel: withDefault("LOG_LEVEL", logLevels, "Info"),
  logFormat: withDefault("LOG_FORMAT", oneOf("pretty", "logfmt", "json"), process.stderr.isTTY ? "pretty" : "logfmt")
}

/** Node prints its warnings, and those of libraries, to standard error. Between lines of JSON they would be no line. */
const nodeWarnings: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const log = yield* FiberSet.makeRuntime<never>()
    const listener = ({ message, name }: Error) => void log(Effect.logWarning(`${name}: ${message}`))
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const printing = process.listeners("warning")
        process.removeAllListeners("warning").on("warning", listener)
        return printing
      }),
      (printing) =>
        Effect.sync(() => {
          process.off("warning", listener)
          for (const print of printing) process.on("warning", print)
        })
    )
  })
)

// Messages may contain untrusted text, such as a message's routing key. Line breaks in it would look like further log lines,
// and control characters would control terminals.

/** Control characters, line and paragraph separators, and direction marks. */
const unsafe = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const unsafeInLine = new RegExp(unsafe.source.replace("\\p{Cc}", "\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f"), "gu")

const short: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escapeCharacter = (character: string): string =>
  short[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Escapes to one line. */
const escape = (text: string): string => text.replace(unsafe, escapeCharacter)

/** Keeps line breaks and tabs, for stack traces. */
const escapeLines = (text: string): string => text.replace(unsafeInLine, escapeCharacter)

const escapeValue = (value: unknown): string =>
  typeof value === "string" ? escape(value) : escapeLines(inspect(Redactable.redact(value)))

const list = (message: unknown): ReadonlyArray<unknown> => (Array.isArray(message) ? message : [message])

/** For loggers with one line per message, such as logfmt and JSON. */
const inOneLine = <Message>(logger: Logger.Logger<Message, string>): Logger.Logger<Message, void> =>
  Logger.withConsoleError(Logger.map(logger, escape))

const json = Logger.map(Logger.formatStructured, ({ level, message, ...rest }) =>
  Formatter.formatJson({ message, logLevel: level, ...rest })
)

const withAnnotations = (
  fiber: Fiber.Fiber<unknown, unknown>,
  annotations: Readonly<Record<string, unknown>>
): Fiber.Fiber<unknown, unknown> =>
  Object.create(fiber, {
    getRef: {
      value: (reference: unknown) =>
        reference === References.CurrentLogAnnotations ? annotations : fiber.getRef(reference as never)
    }
  })

/** For the pretty logger, which writes stack traces in several lines. */
const forPeople = (logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> =>
  Logger.make(({ cause, fiber, message, ...rest }) =>
    logger.log({
      ...rest,
      fiber: withAnnotations(fiber, Record.map(fiber.getRef(References.CurrentLogAnnotations), escapeValue)),
      message: [
        ...list(message).map(escapeValue),
        ...(cause.reasons.length === 0 ? [] : [escapeLines(Cause.pretty(cause))])
      ],
      cause: Cause.empty
    })
  )

/** Logs to standard error. */
export const layer = ({ logFormat, logLevel }: Values<typeof settings>): Layer.Layer<never> => {
  const loggers = {
    pretty: forPeople(Logger.consolePretty()),
    logfmt: inOneLine(Logger.formatLogFmt),
    json: inOneLine(json)
  }
  return Layer.provideMerge(
    nodeWarnings,
    Layer.mergeAll(
      Logger.layer([loggers[logFormat], Logger.tracerLogger]),
      Layer.succeed(Logger.LogToStderr, true),
      Layer.succeed(References.MinimumLogLevel, logLevel)
    )
  )
}
