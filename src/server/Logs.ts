/** Logging and its settings, for the server and for leaders. `docs/settings.md` explains the settings. */
import { Effect, FiberSet, Layer, Logger, LogLevel } from "effect"
import { oneOf, type Values, withDefault, wordFor } from "../settings/EnvironmentVariable.ts"
import * as SafeLogger from "./SafeLogger.ts"

const logLevels = wordFor({
  ...{ trace: LogLevel.Trace, debug: LogLevel.Debug, info: LogLevel.Info, warn: LogLevel.Warning },
  ...{ warning: LogLevel.Warning, error: LogLevel.Error, fatal: LogLevel.Fatal, none: LogLevel.None }
})

export const settings = {
  logLevel: withDefault("LOG_LEVEL", logLevels, LogLevel.Info),
  logFormat: withDefault("LOG_FORMAT", oneOf("pretty", "logfmt", "json"), process.stderr.isTTY ? "pretty" : "logfmt")
}

/** Node prints its warnings, and those of libraries, to standard error. Between lines of JSON they would be no line. */
const nodeWarnings: Layer.Layer<never> = Layer.scopedDiscard(
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

/** Logs to standard error. */
export const layer = ({ logFormat, logLevel }: Values<typeof settings>): Layer.Layer<never> => {
  const loggers = {
    pretty: SafeLogger.forPeople(Logger.prettyLogger({ stderr: true })),
    logfmt: Logger.withConsoleError(SafeLogger.inOneLine(Logger.logfmtLogger)),
    json: Logger.withConsoleError(SafeLogger.inOneLine(Logger.jsonLogger))
  }
  return Layer.provideMerge(
    nodeWarnings,
    Layer.merge(Logger.replace(Logger.defaultLogger, loggers[logFormat]), Logger.minimumLogLevel(logLevel))
  )
}
