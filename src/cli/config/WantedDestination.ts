/** A destination that a file asks for: of a webhook, or of alerts. */
import { Effect, Struct } from "effect"
import type { DestinationEvent } from "../../domain/delivery/DestinationEvent.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { DestinationEntry } from "./ConfigFile.ts"
import { type Fields, fromVariable, isKnown, readSecret, type Secret } from "./SecretReferences.ts"
import type { Path, Source } from "./YamlFile.ts"

export interface Wanted {
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

export const isGiven = (fields: Fields, ...names: ReadonlyArray<string>) =>
  names.filter((name) => fields[name] !== undefined)

/** At most one of the fields may be given. */
export const together = (
  entry: Fields,
  fault: Wanted["fault"],
  ...names: ReadonlyArray<string>
): ReadonlyArray<Fault> => {
  const given = isGiven(entry, ...names)
  return given.length > 1 ? [fault(given[1]!, `must not be set together with ${given[0]}`)] : []
}

/** `events`: what it gets by default. */
export const destination = Effect.fnUntraced(function* (
  entry: DestinationEntry,
  { folder, fault: at }: Source,
  path: Path,
  events: ReadonlyArray<DestinationEvent>
) {
  const fault = (field: string, detail: string) => at([...path, ...(field === "" ? [] : [field])], detail)
  const { headers_env, id } = entry
  const fields = Struct.omit(entry, ["id", "headers_env", "token_env", "token_file", "url_env", "url_file"])
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
    events: fields.events ?? events,
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
