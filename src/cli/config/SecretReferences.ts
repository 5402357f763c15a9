/** Secrets that files refer to by the name of a variable, or by another file. */
import { join } from "node:path"
import { Config, Effect, type FileSystem, Option } from "effect"
import { readText } from "../Files.ts"

export type Fields = Readonly<Record<string, unknown>>

/** A secret that the files refer to, or why it cannot be read. */
export type Secret = KnownSecret | { readonly field: string; readonly unknown: string }

interface KnownSecret {
  /** The field of the file that refers to it. */
  readonly field: string
  readonly value: string
}

export const isKnown = (secret: Secret | undefined): secret is KnownSecret => secret !== undefined && "value" in secret

export const fromVariable = (field: string, name: string) =>
  Config.option(Config.NonEmptyString(name)).pipe(
    Effect.orElseSucceed(Option.none),
    Effect.map(
      (found): Secret =>
        Option.isSome(found) ? { field, value: found.value } : { field, unknown: `${name} is not set` }
    )
  )

const fromFile = (field: string, path: string) =>
  readText(path).pipe(
    // As editors end a file.
    Effect.map((text): Secret => ({ field, value: text.replace(/\r?\n$/, "") })),
    Effect.catch((unknown) => Effect.succeed<Secret>({ field, unknown }))
  )

/** The secret that `<name>_env` or `<name>_file` refers to. */
export const readSecret = (
  folder: string,
  entry: Fields,
  name: string
): Effect.Effect<Secret | undefined, never, FileSystem.FileSystem> => {
  const [variable, file] = [entry[`${name}_env`], entry[`${name}_file`]]
  if (typeof variable === "string") return fromVariable(`${name}_env`, variable)
  if (typeof file === "string") return fromFile(`${name}_file`, join(folder, file))
  return Effect.succeed(undefined)
}
