/** YAML documents, whose faults are reported with file and line. */
import { Effect, Result, Schema } from "effect"
import type { Document, LineCounter, Node, Pair, Scalar, YAMLMap } from "yaml"
import type { Fault } from "../../domain/Errors.ts"
import { faultsOf } from "../../domain/SchemaFaults.ts"
import { ConfigFile, unknownField } from "./ConfigFile.ts"

export type Path = ReadonlyArray<PropertyKey>

export interface Source {
  readonly content: ConfigFile
  /** The folder of the file. Other files that it names are relative to it. */
  readonly folder: string
  /** A fault at this place, with file and line. */
  readonly fault: (path: Path, detail: string) => Fault
}

export const yaml = Effect.promise(() => import("./Yaml.ts"))

/** `webhooks[0].team` */
const nameOf = (path: Path): string =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "")

const isMap = (node: unknown): node is YAMLMap<Scalar> =>
  typeof node === "object" && node !== null && "items" in node && Array.isArray(node.items)

/** The name of a field, as its value may begin on a later line; or the entry of a list. */
const nodeAt = (document: Document.Parsed, path: Path): Node | undefined => {
  const above = document.getIn(path.slice(0, -1), true)
  const pair = isMap(above) ? above.items.find(({ key }: Pair<Scalar>) => key?.value === path.at(-1)) : undefined
  return pair?.key ?? (document.getIn(path, true) as Node | undefined)
}

/** The line of a place. If the document does not have it, that of the nearest one around it. */
const lineOf = (document: Document.Parsed, lines: LineCounter, path: Path): number => {
  const node = path.length === 0 ? document.contents : nodeAt(document, path)
  if (node?.range) return lines.linePos(node.range[0]).line
  return path.length === 0 ? 1 : lineOf(document, lines, path.slice(0, -1))
}

const decode = Schema.decodeUnknownResult(ConfigFile, { errors: "all", onExcessProperty: "error" })

const toSource = (name: string, folder: string, document: Document.Parsed, lines: LineCounter) => {
  const at = (offset: number) => `${name}:${lines.linePos(offset).line}`
  const fault = (path: Path, detail: string): Fault => ({
    pointer: `${name}:${lineOf(document, lines, path)}`,
    detail: `${nameOf(path)} ${detail}`.trim()
  })
  return Result.gen(function* () {
    const errors = [...document.errors, ...document.warnings]
    if (errors.length > 0) {
      return yield* Result.fail(errors.map(({ message, pos }) => ({ pointer: at(pos[0]), detail: message })))
    }
    // Aliases of aliases can make a document that is too large.
    const value: unknown = yield* Result.try({
      try: () => document.toJS() ?? {},
      catch: (error) => [fault([], String(error))]
    })
    const content = yield* Result.mapError(decode(value), ({ issue }) =>
      faultsOf(issue).map(({ detail, path }) =>
        fault(path, detail.startsWith("is not a field") ? unknownField(path) : detail)
      )
    )
    return { content, folder, fault } satisfies Source
  })
}

/** The documents of a text, or what is wrong with each. */
export const parse = (name: string, folder: string, text: string) =>
  Effect.map(yaml, ({ LineCounter, parseAllDocuments }) => {
    const lines = new LineCounter()
    const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
    return documents.map(
      (document): Result.Result<Source, ReadonlyArray<Fault>> => toSource(name, folder, document, lines)
    )
  })
