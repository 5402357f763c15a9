/** Files that flags name. `-` is standard input. */
import { Effect, FileSystem } from "effect"

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

/** A secret's text, without the line break with which editors end a file. */
export const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, "")
