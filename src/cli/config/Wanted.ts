/** What the files ask for: all documents together, with the texts and secrets that they refer to. */
import { join } from "node:path"
import { Effect, Struct } from "effect"
import { alertEvents, runEndEvents } from "../../domain/delivery/DestinationEvent.ts"
import type { Fault } from "../../domain/Errors.ts"
import { readText } from "../Files.ts"
import type { ConfigFile, WebhookEntry } from "./ConfigFile.ts"
import { readSecret } from "./SecretReferences.ts"
import { destination, isGiven, together, type Wanted, type WantedDestination } from "./WantedDestination.ts"
import { rule, type WantedRule } from "./WantedRule.ts"
import type { Path, Source } from "./YamlFile.ts"

export interface WantedWebhook extends Wanted {
  readonly name: string
  readonly destinations: ReadonlyArray<WantedDestination> | undefined
}

export interface Configuration {
  /** Absent: no file has such a list. */
  readonly teams: ReadonlyArray<string> | undefined
  readonly webhooks: ReadonlyArray<WantedWebhook> | undefined
  readonly alertDestinations: ReadonlyArray<WantedDestination> | undefined
  readonly alertRules: ReadonlyArray<WantedRule> | undefined
  readonly faults: ReadonlyArray<Fault>
  /** Secrets that cannot be read here. */
  readonly unread: ReadonlyArray<Fault>
}

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
      : yield* Effect.catch(readText(join(folder, prompt_template_file)), (detail) => {
          faults.push(fault("prompt_template_file", detail))
          return Effect.succeed("")
        })
  const found = yield* Effect.forEach(entry.destinations ?? [], (each, at) =>
    destination(each, source, [...path, "destinations", at], runEndEvents)
  )
  const wanted: WantedWebhook = {
    id: entry.id,
    name: entry.name,
    fields: {
      ...Struct.omit(entry, ["id", "destinations", "prompt_template_file", "secret_env", "secret_file"]),
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
  /** The entries of a list in all files, or nothing if no file has it. */
  const each = <K extends keyof ConfigFile, A, R>(
    list: K,
    read: (entry: NonNullable<ConfigFile[K]>[number], source: Source, path: Path) => Effect.Effect<A, never, R>
  ) =>
    Effect.gen(function* () {
      if (!sources.some(({ content }) => content[list] !== undefined)) return undefined
      return (yield* Effect.forEach(sources, (source) =>
        Effect.forEach(content(source, list), (entry, at) => read(entry, source, [list, at]))
      )).flat()
    })
  const teams = yield* each("teams", ({ team }, { fault }, path) =>
    Effect.succeed({ team, fault: fault([...path, "team"], "is listed twice") })
  )
  const webhooks = yield* each("webhooks", webhook)
  const alertDestinations = yield* each("alert_destinations", (entry, source, path) =>
    destination(entry, source, path, alertEvents)
  )
  const alertRules = yield* each("alert_rules", (...entry) => Effect.succeed(rule(...entry)))
  const found = [...(webhooks ?? []), ...(alertDestinations ?? []), ...(alertRules ?? [])]
  const secrets = [
    ...(webhooks ?? []).flatMap(({ wanted }) => [wanted, ...(wanted.destinations ?? [])]),
    ...(alertDestinations ?? []).map(({ wanted }) => wanted)
  ]
  return {
    teams: teams?.map(({ team }) => team),
    webhooks: webhooks?.map(({ wanted }) => wanted),
    alertDestinations: alertDestinations?.map(({ wanted }) => wanted),
    alertRules: alertRules?.map(({ wanted }) => wanted),
    unread: secrets.flatMap(unreadOf),
    faults: [
      ...found.flatMap(({ faults }) => faults),
      ...repeated(
        teams ?? [],
        ({ team }) => team,
        ({ fault }) => fault
      ),
      ...repeated(
        (webhooks ?? []).map(({ wanted }) => wanted),
        ({ id, name }) => id ?? name,
        ({ fault }) => fault("name", "is listed twice; give each its `id`")
      )
    ]
  } satisfies Configuration
})

const content = <K extends keyof ConfigFile>(source: Source, list: K): NonNullable<ConfigFile[K]> =>
  source.content[list] ?? ([] as never)
