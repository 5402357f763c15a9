/** Files of a run: those that came with its request or that it named (`in`), and those that its agent left (`out`). Browser-safe. */
import { Schema } from "effect"
import { Int } from "../SchemaParts.ts"
import { storable } from "../StorableText.ts"
import { optional } from "../Time.ts"

/** In each direction. */
export const mostFiles = 10
/** The maximum size of a file, in bytes. */
export const maxFile = 5_000_000
/** The maximum size of all files, in bytes. */
export const allFiles = mostFiles * maxFile
/** In UTF-16 code units. */
const longestName = 100
/** Only the end of a longer name counts. */
const longestGiven = 1_000

const text = (description: string) => Schema.String.annotate({ description })

export const RunFile = Schema.Struct({
  id: text("Unique in the run: `in-1`, `out-1`."),
  name: text("The sender's name without what is special in names of files. Those of a request differ, in either case."),
  type: text("The media type that its sender named. Do not trust it."),
  size: optional(
    Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "In bytes; absent: the server does not have it, or not yet."
    })
  ),
  missing: optional(text("Why the server does not have it, and will not. Do not ask for it."))
}).annotate({
  identifier: "RunFile",
  description: "A file that came with the request or that it named, or that the agent left."
})
export type RunFile = typeof RunFile.Type

/** A file as its sender named it. */
export interface SentFile {
  readonly name: string
  readonly type?: string | undefined
  readonly bytes: Uint8Array
}

export type StoredFile = RunFile & { readonly size: number; readonly bytes: Uint8Array }

/** The ID of the n-th file that the agent left. */
export const sentId = (n: number): string => `out-${n}`

/** The ID of one of the files of a request. */
export const isIncomingId = (id: unknown): id is string => typeof id === "string" && /^in-([1-9]|10)$/.test(id)

export const isIncoming = ({ id }: Pick<RunFile, "id">): boolean => id.startsWith("in-")

/** Names of devices on Windows. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i
/** Separators, and what shells, other systems and people read as something else. */
const special = /[\p{C}\p{Zl}\p{Zp}<>:"|?*`$\\/]/gu

const cut = (name: string, most: number): string => {
  const [, stem = name, extension = ""] = /^(.+?)(\.[^.]{1,16})?$/su.exec(name) ?? []
  return storable(`${stem.slice(0, most - extension.length)}${extension}`)
}

const cleanName = (given: string): string => {
  const plain = given
    .slice(-longestGiven)
    .split(/[\\/]/)
    .at(-1)!
    .normalize("NFC")
    .replace(special, "_")
    .replace(/^[\s.~-]+|[\s.]+$/g, "")
  return cut(plain === "" ? "file" : reserved.test(plain) ? `_${plain}` : plain, longestName)
}

const mediaType = (type = ""): string =>
  /^[\w.+-]{1,64}\/[\w.+-]{1,64}/.exec(type)?.[0].toLowerCase() ?? "application/octet-stream"

/** The file as it is stored, with a name that none of the others has, in either case. */
export const storedFile = (
  id: string,
  { bytes, name, type }: SentFile,
  others: ReadonlyArray<Pick<RunFile, "name">>
): StoredFile => {
  const taken = new Set(others.map((other) => other.name.toLowerCase()))
  const clean = cleanName(name)
  let unique = clean
  for (let n = 2; taken.has(unique.toLowerCase()); n++) unique = cut(`${n}-${clean}`, longestName)
  return { id, name: unique, type: mediaType(type), size: bytes.length, bytes }
}

/** The files that came with a request. */
export const incomingFiles = (sent: ReadonlyArray<SentFile>): ReadonlyArray<StoredFile> => {
  const files: Array<StoredFile> = []
  for (const file of sent) files.push(storedFile(`in-${files.length + 1}`, file, files))
  return files
}
