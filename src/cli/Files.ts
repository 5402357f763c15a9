/** Files that options name. `-` is standard input. */
import { ValidationError } from "@effect/cli"
import { Effect, FileSystem } from "effect"
import { HelpDoc } from "effect/cli"

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The bytes of the file, or why there are none. */
export const readBytes = (path: string): Effect.Effect<Uint8Array, string, FileSystem.FileSystem> =>
  Effect.flatMap(FileSystem.FileSystem, (files) => files.readFile(path === "-" ? "/dev/stdin" : path)).pipe(
    Effect.mapError(() => `cannot read the file ${JSON.stringify(path)}`)
  )

export const readText = (path: string): Effect.Effect<string, string, FileSystem.FileSystem> =>
  Effect.flatMap(readBytes(path), (bytes) =>
    Effect.try({ try: () => utf8.decode(bytes), catch: () => `the file ${JSON.stringify(path)} is not UTF-8` })
  )

/** Reads an option's file. What is wrong with it is reported by the option's name. */
export const fileOf =
  <A>(option: string, read: (path: string) => Effect.Effect<A, string, FileSystem.FileSystem>) =>
  (path: string): Effect.Effect<A, ValidationError.ValidationError, FileSystem.FileSystem> =>
    Effect.mapError(read(path), (detail) => ValidationError.invalidValue(HelpDoc.p(`--${option}: ${detail}`)))
