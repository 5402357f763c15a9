/** All files as one document for the server, with the texts and secrets that they refer to. */
import { join } from "node:path"
import { Effect, type FileSystem, Struct } from "effect"
import type { ConfigDestination, Configuration, ConfigWebhook, Step } from "../../domain/Configuration.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Fault } from "../../domain/Errors.ts"
import { readText } from "../Files.ts"
import type { ConfigFile, DestinationEntry, WebhookEntry } from "./ConfigFile.ts"
import { type Fields, fromVariable, isKnown, readSecret, type Secret } from "./SecretReferences.ts"
import type { Path, Source } from "./YamlFile.ts"

/** A secret that cannot be read here. */
interface Unread {
  readonly fault: Fault
  /** The step of its object, and what the plan says there. */
  readonly pointer: string
  readonly note: string
}

export interface Document {
  readonly configuration: Configuration
  readonly faults: ReadonlyArray<Fault>
  readonly unread: ReadonlyArray<Unread>
  /** A fault of the document, with file and line. */
  readonly placed: (fault: Fault) => Fault
  /** With what could not be compared. */
  readonly noted: (step: Step) => Step
}

type List = keyof ConfigFile

/** An entry of a file. */
interface Entry {
  readonly value: Fields
  readonly source: Source
  readonly path: Path
}

const isGiven = (fields: Fields, ...names: ReadonlyArray<string>) => names.filter((name) => fields[name] !== undefined)

/** Where a file has the field of the document: secrets and prompts have other names there. */
const inFile = (value: unknown, [field, ...inner]: ReadonlyArray<string>): ReadonlyArray<string | number> => {
  if (field === undefined) return []
  if (Array.isArray(value)) return [Number(field), ...inFile(value[Number(field)], inner)]
  const fields = (value ?? {}) as Fields
  const [found] = isGiven(fields, field, `${field}_env`, `${field}_file`)
  const name = found ?? (["secret", "token", "headers"].includes(field) ? `${field}_env` : field)
  return [name, ...inFile(fields[name], inner)]
}

/** At most one of the fields may be given. */
const together = (entry: Fields, fault: (field: string, detail: string) => void, ...names: ReadonlyArray<string>) => {
  const [first, second] = isGiven(entry, ...names)
  if (second !== undefined) fault(second, `must not be set together with ${first}`)
}

export const collect = Effect.fn("Cli.collectConfig")(function* (sources: ReadonlyArray<Source>) {
  const faults: Array<Fault> = []
  const unread: Array<Unread> = []
  const entries: { [L in List]?: Array<Entry> } = {}

  const faultAt =
    ({ path, source }: Entry) =>
    (field: string, detail: string) =>
      void faults.push(source.fault([...path, ...(field === "" ? [] : [field])], detail))

  /** `null`: it cannot be read here. */
  const valueOf = (secret: Secret | undefined, name: string, { path, source }: Entry, pointer: string) => {
    if (secret === undefined) return undefined
    if (isKnown(secret)) return secret.value
    const fault = source.fault([...path, secret.field], `cannot be read: ${secret.unknown}`)
    unread.push({ fault, pointer, note: `${name} not compared: ${secret.unknown}` })
    return null
  }
  const secretOf = (entry: Entry, name: string, pointer: string) => {
    together(entry.value, faultAt(entry), `${name}_env`, `${name}_file`)
    return Effect.map(readSecret(entry.source.folder, entry.value, name), (secret) =>
      valueOf(secret, name, entry, pointer)
    )
  }

  const destination = Effect.fnUntraced(function* (value: DestinationEntry, entry: Entry, pointer: string) {
    const { headers_env, ...rest } = value
    const { kind = "webhook" } = rest
    const fault = faultAt(entry)
    if (kindOf(kind).url?.isSecret) {
      if (rest.url !== undefined) fault("url", "contains a key; use url_env or url_file")
    } else {
      for (const field of isGiven(value, "url_env", "url_file")) fault(field, `is not a field of the kind ${kind}`)
    }
    const [url, token] = [yield* secretOf(entry, "url", pointer), yield* secretOf(entry, "token", pointer)]
    const headers: Record<string, string | null> = {}
    for (const [name, variable] of Object.entries(headers_env ?? {})) {
      headers[name] = valueOf(yield* fromVariable("headers_env", variable), "headers", entry, pointer)!
    }
    return {
      ...Struct.omit(rest, ["url_env", "url_file", "token_env", "token_file"]),
      ...(url !== undefined && { url }),
      ...(token !== undefined && { token }),
      ...(headers_env && { headers })
    } satisfies ConfigDestination
  })

  const webhook = Effect.fnUntraced(function* (value: WebhookEntry, entry: Entry, pointer: string) {
    const { destinations, prompt_template_file: path, secret_env: _, secret_file: __, ...rest } = value
    const fault = faultAt(entry)
    together(value, fault, "prompt_template", "prompt_template_file")
    if ((path ?? rest.prompt_template) === undefined) fault("", "requires prompt_template or prompt_template_file")
    const text = path === undefined ? Effect.succeed("") : readText(join(entry.source.folder, path))
    const prompt = yield* Effect.catch(text, (detail) => {
      fault("prompt_template_file", detail)
      return Effect.succeed("")
    })
    const secret = yield* secretOf(entry, "secret", pointer)
    const inside = yield* Effect.forEach(destinations ?? [], (one, at) =>
      destination(
        one,
        { ...entry, value: one, path: [...entry.path, "destinations", at] },
        `${pointer}/destinations/${at}`
      )
    )
    return {
      ...rest,
      prompt_template: rest.prompt_template ?? prompt,
      ...(secret !== undefined && { secret }),
      ...(destinations && { destinations: inside })
    } satisfies ConfigWebhook
  })

  /** The entries of a list in all files, or nothing if no file has it. */
  const each = <L extends List, A>(
    list: L,
    read: (
      value: NonNullable<ConfigFile[L]>[number],
      entry: Entry,
      pointer: string
    ) => Effect.Effect<A, never, FileSystem.FileSystem>
  ) =>
    Effect.gen(function* () {
      if (!sources.some(({ content }) => content[list] !== undefined)) return {}
      const all = sources.flatMap((source) =>
        (source.content[list] ?? []).map((value, at): Entry => ({ value: { ...value }, source, path: [list, at] }))
      )
      entries[list] = all
      const read_ = (entry: Entry, at: number) => read(entry.value as never, entry, `/${list}/${at}`)
      return { [list]: yield* Effect.forEach(all, read_) }
    })

  const configuration = {
    ...(yield* each("teams", Effect.succeed)),
    ...(yield* each("webhooks", webhook)),
    ...(yield* each("alert_destinations", destination)),
    ...(yield* each("alert_rules", Effect.succeed))
  } as Configuration

  return {
    ...{ configuration, faults, unread },
    placed: ({ detail, pointer }) => {
      const [list = "", at, ...path] = pointer.split("/").slice(1)
      const entry = entries[list as List]?.[Number(at)]
      if (entry === undefined) return { pointer, detail }
      return entry.source.fault([...entry.path, ...inFile(entry.value, path)], detail)
    },
    noted: (step) => ({
      ...step,
      notes: [...step.notes, ...unread.filter(({ pointer }) => pointer === step.pointer).map(({ note }) => note)]
    })
  } satisfies Document
})
