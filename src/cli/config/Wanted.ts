/** What the files ask for: all documents together, with the texts and secrets that they refer to. */
import { join } from "node:path"
import type { FileSystem as Files } from "@effect/platform/FileSystem"
import { Config, Effect, Option, Struct } from "effect"
import { runEvents } from "../../domain/delivery/DestinationEvent.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Fault } from "../../domain/Errors.ts"
import { readText } from "../Files.ts"
import type { DestinationEntry, WebhookEntry } from "./ConfigFile.ts"
import type { Path, Source } from "./YamlFile.ts"

/** A secret that the files refer to, or why it cannot be read. */
export type Secret = KnownSecret | { readonly field: string; readonly unknown: string }

interface KnownSecret {
  /** The field of the file that refers to it. */
  readonly field: string
  readonly value: string
}

export const isKnown = (secret: Secret | undefined): secret is KnownSecret => secret !== undefined && "value" in secret

export type Fields = Readonly<Record<string, unknown>>

interface Wanted {
  readonly id: string | undefined
  /** As in the API, without secrets. */
  readonly fields: Fields
  readonly secret: Secret | undefined
  readonly fault: (field: string, detail: string) => Fault
}

export interface WantedDestination extends Wanted {
  /** The field of the API that takes its secret. */
  readonly secretField: "url" | "token"
  /** With the server's defaults. */
  readonly shown: Fields
  readonly headers: Readonly<Record<string, Secret>> | undefined
}

export interface WantedWebhook extends Wanted {
  readonly name: string
  readonly destinations: ReadonlyArray<WantedDestination> | undefined
}

export interface Configuration {
  /** Absent: no file has such a list. */
  readonly teams: ReadonlyArray<string> | undefined
  readonly webhooks: ReadonlyArray<WantedWebhook> | undefined
  readonly faults: ReadonlyArray<Fault>
  /** Secrets that cannot be read here. */
  readonly unread: ReadonlyArray<Fault>
}

const fromVariable = (field: string, name: string) =>
  Config.option(Config.nonEmptyString(name)).pipe(
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
    Effect.catchAll((unknown) => Effect.succeed<Secret>({ field, unknown }))
  )

/** The secret that `<name>_env` or `<name>_file` refers to. */
const readSecret = (folder: string, entry: Fields, name: string): Effect.Effect<Secret | undefined, never, Files> => {
  const [variable, file] = [entry[`${name}_env`], entry[`${name}_file`]]
  if (typeof variable === "string") return fromVariable(`${name}_env`, variable)
  if (typeof file === "string") return fromFile(`${name}_file`, join(folder, file))
  return Effect.succeed(undefined)
}

const isGiven = (fields: Fields, ...names: ReadonlyArray<string>) => names.filter((name) => fields[name] !== undefined)

/** At most one of the fields may be given. */
const together = (entry: Fields, fault: Wanted["fault"], ...names: ReadonlyArray<string>): ReadonlyArray<Fault> => {
  const given = isGiven(entry, ...names)
  return given.length > 1 ? [fault(given[1]!, `must not be set together with ${given[0]}`)] : []
}

const destination = Effect.fnUntraced(function* (entry: DestinationEntry, { folder, fault: at }: Source, path: Path) {
  const fault = (field: string, detail: string) => at([...path, ...(field === "" ? [] : [field])], detail)
  const { headers_env, id } = entry
  const fields = Struct.omit(entry, "id", "headers_env", "token_env", "token_file", "url_env", "url_file")
  const { kind = "webhook" } = fields
  const data = kindOf(kind)
  const hasSecretUrl = data.url?.isSecret === true
  const notFields = isGiven(
    entry,
    ...(hasSecretUrl ? [] : ["url_env", "url_file"]),
    ...(data.token ? [] : ["token_env", "token_file"]),
    ...(data.sends === "event" ? [] : ["headers_env"])
  )
  const faults = [
    ...notFields.map((field) => fault(field, `is not a field of the kind ${kind}`)),
    ...(hasSecretUrl && fields.url !== undefined ? [fault("url", "contains a key; use url_env or url_file")] : []),
    ...together(entry, fault, "url_env", "url_file"),
    ...together(entry, fault, "token_env", "token_file")
  ]
  const secretField = hasSecretUrl ? "url" : "token"
  const secret = yield* readSecret(folder, entry, secretField)
  const shown = {
    kind,
    ...fields,
    url: hasSecretUrl ? hostOf(secret) : (fields.url ?? data.url?.default ?? data.shownUrl),
    events: fields.events ?? runEvents,
    body: fields.body ?? (data.sends === "event" ? "thin" : "full")
  }
  const headers =
    headers_env && (yield* Effect.all(mapValues(headers_env, (name) => fromVariable("headers_env", name))))
  return {
    wanted: {
      ...{ id, fields, shown, secret, secretField, headers, fault }
    } satisfies WantedDestination,
    faults
  }
})

const mapValues = <A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))

/** As the server shows a URL with a key. */
const hostOf = (secret: Secret | undefined): string | undefined =>
  isKnown(secret) && URL.canParse(secret.value) ? `${new URL(secret.value).origin}/…` : undefined

const webhook = Effect.fnUntraced(function* (entry: WebhookEntry, source: Source, path: Path) {
  const { folder } = source
  const fault = (field: string, detail: string) => source.fault([...path, ...(field === "" ? [] : [field])], detail)
  const { prompt_template_file } = entry
  const faults = [
    ...together(entry, fault, "prompt_template", "prompt_template_file"),
    ...together(entry, fault, "secret_env", "secret_file"),
    ...(isGiven(entry, "prompt_template", "prompt_template_file").length === 0
      ? [fault("", "requires prompt_template or prompt_template_file")]
      : []),
    ...(entry.verification === undefined
      ? isGiven(entry, "secret_env", "secret_file").map((field) => fault(field, "requires verification"))
      : [])
  ]
  const template =
    prompt_template_file === undefined
      ? entry.prompt_template
      : yield* Effect.catchAll(readText(join(folder, prompt_template_file)), (detail) => {
          faults.push(fault("prompt_template_file", detail))
          return Effect.succeed("")
        })
  const found = yield* Effect.forEach(entry.destinations ?? [], (each, at) =>
    destination(each, source, [...path, "destinations", at])
  )
  const wanted: WantedWebhook = {
    id: entry.id,
    name: entry.name,
    fields: {
      ...Struct.omit(entry, "id", "destinations", "prompt_template_file", "secret_env", "secret_file"),
      prompt_template: template
    },
    secret: yield* readSecret(folder, entry, "secret"),
    destinations: entry.destinations && found.map(({ wanted }) => wanted),
    fault: (field, detail) =>
      fault(field === "prompt_template" && prompt_template_file ? "prompt_template_file" : field, detail)
  }
  return { wanted, faults: [...faults, ...found.flatMap(({ faults }) => faults)] }
})

/** An entry that names the same object as an earlier one. */
const repeated = <A>(entries: ReadonlyArray<A>, keyOf: (entry: A) => string, fault: (entry: A) => Fault) => {
  const seen = new Set<string>()
  return entries.flatMap((entry) => (seen.size === seen.add(keyOf(entry)).size ? [fault(entry)] : []))
}

/** A secret that cannot be read is a fault only for those who want to set it. */
const unreadOf = ({ fault, ...wanted }: WantedWebhook | WantedDestination): ReadonlyArray<Fault> =>
  [wanted.secret, ...("headers" in wanted ? Object.values(wanted.headers ?? {}) : [])].flatMap((secret) =>
    secret !== undefined && "unknown" in secret ? [fault(secret.field, `cannot be read: ${secret.unknown}`)] : []
  )

/** All documents together. */
export const collect = Effect.fn("Cli.collectConfig")(function* (sources: ReadonlyArray<Source>) {
  const teams = sources.flatMap(({ content, fault }) =>
    (content.teams ?? []).map(({ team }, at) => ({ team, fault: fault(["teams", at, "team"], "is listed twice") }))
  )
  const found = (yield* Effect.forEach(sources, (source) =>
    Effect.forEach(source.content.webhooks ?? [], (entry, at) => webhook(entry, source, ["webhooks", at]))
  )).flat()
  const webhooks = found.map(({ wanted }) => wanted)
  const has = (list: "teams" | "webhooks") => sources.some(({ content }) => content[list] !== undefined)
  return {
    teams: has("teams") ? teams.map(({ team }) => team) : undefined,
    webhooks: has("webhooks") ? webhooks : undefined,
    unread: webhooks.flatMap((webhook) => [webhook, ...(webhook.destinations ?? [])].flatMap(unreadOf)),
    faults: [
      ...found.flatMap(({ faults }) => faults),
      ...repeated(
        teams,
        ({ team }) => team,
        ({ fault }) => fault
      ),
      ...repeated(
        webhooks,
        ({ id, name }) => id ?? name,
        ({ fault }) => fault("name", "is listed twice; give each its `id`")
      )
    ]
  } satisfies Configuration
})
