/** The destinations of a webhook, or of alerts, in a configuration. */
import { isDeepStrictEqual } from "node:util"
import { Effect, Redacted, Result } from "effect"
import { ConfigDestination } from "../../domain/Configuration.ts"
import { type Destination, maxDestinations } from "../../domain/delivery/Destination.ts"
import { alertEvents, runEndEvents } from "../../domain/delivery/DestinationEvent.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import { decode } from "../../domain/Validation.ts"
import { secretHintOf } from "../../domain/webhook/SecretHint.ts"
import { Destinations } from "../delivery/Destinations.ts"
import { byName, type Fields, omitted, type Resource, type Run } from "./Resource.ts"
import * as Targets from "./Targets.ts"

/** In a dry run, for what the client does not know. They are never used. */
const standIns = { token: "unknown", url: "https://1.1.1.1/", header: "unknown" }

/** A secret counts as unchanged if its last characters are those of the stored one. */
export const secretChange = (
  field: string,
  value: string | null | undefined,
  hint: string | undefined,
  resetSecrets: boolean
) => {
  const to = typeof value === "string" ? secretHintOf(value) : undefined
  return to === undefined || (to === hint && !resetSecrets)
    ? { changes: [], payload: {} }
    : { changes: [{ field, ...(hint !== undefined && { from: hint }), to }], payload: { [field]: value } }
}

const nameOf = ({ description, kind, target, url }: Fields): string =>
  description === undefined ? [kind, url, target].filter((part) => part !== undefined).join(" ") : String(description)

/** As the server shows a URL with a key. */
const hostOf = (url: string | null | undefined): string | undefined =>
  url && URL.canParse(url) ? `${new URL(url).origin}/…` : undefined

const dataOf = ({ kind = "webhook" }: ConfigDestination) => kindOf(kind)
const hasSecretUrl = (entry: ConfigDestination): boolean => dataOf(entry).url?.isSecret === true

/** With the server's defaults. */
const shownOf = (entry: ConfigDestination, isOfAlerts: boolean): Fields => {
  const { sends, shownUrl, url } = dataOf(entry)
  return {
    kind: "webhook",
    events: isOfAlerts ? alertEvents : runEndEvents,
    body: sends === "event" ? "thin" : "full",
    ...omitted(entry, "id", "token", "headers"),
    url: url?.isSecret ? hostOf(entry.url) : (entry.url ?? url?.default ?? shownUrl)
  }
}

const isStored = (one: ConfigDestination | Destination): one is Destination => "created_at" in one

export const alertTargets = (prune: boolean) =>
  Targets.make<ConfigDestination, Destination>(
    (one) => ({ name: nameOf(isStored(one) ? { ...one } : shownOf(one, true)), text: one.description }),
    prune
  )

/** A new one's signing secret. */
export type Keep = (name: string, created: { readonly id: string; readonly secret: string }) => void

export const make = Effect.map(
  Destinations,
  (destinations) =>
    /** `owner`: `null` for those of alerts, `undefined` for those of a webhook that has faults itself. */
    (
      { options: { dryRun, resetSecrets } }: Run,
      owner: string | null | undefined,
      keep: Keep,
      { targets, what }: { readonly what?: string; readonly targets?: ReturnType<typeof alertTargets> }
    ): Resource<ConfigDestination, Fields & Destination> => {
      const shown = (entry: ConfigDestination) => shownOf(entry, owner === null)
      const isNamed = (entry: ConfigDestination, other: ConfigDestination | Destination) => {
        const { description, kind, target, url } = shown(entry)
        const one: Fields = isStored(other) ? { ...other } : shown(other)
        if (description !== undefined) return one.description === description
        const isThere = one.kind === kind && one.target === target && (url === undefined || one.url === url)
        return one.description === undefined && isThere
      }
      const matched = byName<ConfigDestination, Fields & Destination>(isNamed)

      /** The values of headers are never shown, so only their names are compared. */
      const headersOf = ({ headers }: ConfigDestination, before: Destination | undefined, isMoved: boolean) => {
        const [from, to] = [[...(before?.header_names ?? [])].sort(), Object.keys(headers ?? {}).sort()]
        const isSame = headers === undefined || (isDeepStrictEqual(from, to) && !resetSecrets)
        const values = Object.entries(headers ?? {}).map(([name, value]) => [
          name,
          value ?? (dryRun ? standIns.header : value)
        ])
        return {
          changes: isSame ? [] : [{ field: "headers", ...(from.length > 0 && { from }), to }],
          payload: headers === undefined || (isSame && !isMoved) ? {} : { headers: Object.fromEntries(values) }
        }
      }

      return {
        kind: owner === null ? "alert_destination" : "destination",
        ...(what !== undefined && { what }),
        most: maxDestinations,
        key: "",
        decode: decode(ConfigDestination),
        stored:
          owner === undefined
            ? Effect.succeed([])
            : Effect.map(destinations.list(owner), (all) => all.map((one) => ({ ...one }))),
        match: (entries, stored) => {
          const found = matched(entries, stored)
          targets?.matched(stored, entries, found.map(Result.getOrUndefined))
          return found
        },
        identity: (entry) => `${entry.id} ${nameOf(shown(entry))}`,
        nameOf: (entry) => nameOf(shown(entry)),
        nameOfStored: nameOf,
        fields: ["url", "target", "description", "events", "body", "template"],
        wanted: (entry, before, fault) => {
          const { kind, ...fields } = shown(entry)
          if (before !== undefined && before.kind !== kind) fault("/kind", `cannot be changed; it is ${before.kind}`)
          // A URL with a key is compared as a secret.
          return hasSecretUrl(entry)
            ? { draft: omitted(entry, "id", "token", "headers", "url"), shown: { ...fields, url: before?.url } }
            : { draft: omitted(entry, "id", "token", "headers"), shown: fields }
        },
        secrets: (entry, before, isMoved) => {
          const field = hasSecretUrl(entry) ? "url" : "token"
          const secret = secretChange(field, entry[field], before?.secret_hint, resetSecrets)
          const headers = headersOf(entry, before, isMoved)
          // With another URL, the server asks for the token again.
          const isNeeded = before === undefined || (isMoved && field === "token")
          const value = entry[field] === null && dryRun ? standIns[field] : entry[field]
          return {
            changes: [...secret.changes, ...headers.changes],
            payload: { ...(isNeeded && value && { [field]: value }), ...secret.payload, ...headers.payload }
          }
        },
        create: (draft) =>
          owner === undefined
            ? Effect.as(destinations.check(draft), undefined)
            : Effect.map(destinations.create(owner, draft), ({ destination: { id, ...destination }, secret }) => {
                if (secret !== undefined) keep(nameOf(destination), { id, secret: Redacted.value(secret) })
                return id
              }),
        created: (entry, id) => targets?.add(entry, { id, fileId: entry.id }),
        edit: ({ id }, change) => destinations.edit(owner ?? null, id, change),
        remove: ({ id }) => destinations.remove(owner ?? null, id)
      }
    }
)
