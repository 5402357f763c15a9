/**
 * Escapes log messages. They may contain untrusted text, such as a message's routing key. Line breaks in it would look
 * like further log lines, and control characters would control terminals.
 */
import { inspect } from "node:util"
import { Cause, HashMap, Inspectable, Logger } from "effect"

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
  typeof value === "string" ? escape(value) : escapeLines(inspect(Inspectable.redact(value)))

const list = (message: unknown): ReadonlyArray<unknown> => (Array.isArray(message) ? message : [message])

/** For loggers with one line per message, such as logfmt and JSON. */
export const inOneLine = <Message>(logger: Logger.Logger<Message, string>): Logger.Logger<Message, string> =>
  Logger.map(logger, escape)

/** For the pretty logger, which writes stack traces in several lines. */
export const forPeople = (logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> =>
  Logger.mapInputOptions(logger, ({ annotations, cause, message, ...rest }) => ({
    ...rest,
    annotations: HashMap.map(annotations, escapeValue),
    message: [
      ...list(message).map(escapeValue),
      ...(Cause.isEmpty(cause) ? [] : [escapeLines(Cause.pretty(cause, { renderErrorCause: true }))])
    ],
    cause: Cause.empty
  }))
