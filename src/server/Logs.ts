/** Logging and its settings, for the server and for leaders. `docs/settings.md` explains the settings. */
import { Layer, Logger, LogLevel } from "effect"
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

/** Logs to standard error. */
export const layer = ({ logFormat, logLevel }: Values<typeof settings>): Layer.Layer<never> => {
  const loggers = {
    pretty: SafeLogger.forPeople(Logger.prettyLogger({ stderr: true })),
    logfmt: Logger.withConsoleError(SafeLogger.inOneLine(Logger.logfmtLogger)),
    json: Logger.withConsoleError(SafeLogger.inOneLine(Logger.jsonLogger))
  }
  return Layer.merge(Logger.replace(Logger.defaultLogger, loggers[logFormat]), Logger.minimumLogLevel(logLevel))
}
