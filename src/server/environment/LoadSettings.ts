import { Config, Data, Effect, SchemaIssue } from "effect"
import { configOf, type Setting, type Values } from "../../settings/EnvironmentVariable.ts"

/** A variable with an invalid value. */
export interface SettingFault {
  readonly name: string
  readonly accepts: string
  /** The value; absent for a secret. */
  readonly given?: string
}

/** Lists all invalid variables. */
export class SettingsInvalid extends Data.TaggedError("SettingsInvalid")<{
  readonly faults: ReadonlyArray<SettingFault>
}> {}

/** Settings by name. An entry may also be a group of settings. */
type Table = { readonly [name: string]: Setting<any> | { readonly config: Config.Config<any> } }

/** The variables that hold a secret. */
export const secretsOf = (table: Table): ReadonlyArray<string> =>
  Object.values<Partial<Setting<unknown>>>(table).flatMap(({ isSecret, variable }) =>
    isSecret && variable !== undefined ? [variable] : []
  )

const variablesOf = (table: Table): ReadonlyArray<string> =>
  Object.values<Partial<Setting<unknown>>>(table).flatMap(({ variable }) => variable ?? [])

/** Variables of ours that are not settings. */
const others = [
  ...["WEBHOOK_TRIGGER_URL", "WEBHOOK_TOKEN", "WEBHOOK_RUN_ID", "WEBHOOK_TEAM", "WEBHOOK_SOURCE", "WEBHOOK_ID"],
  ...["WEBHOOK_NAME", "WEBHOOK_THREAD_ID", "WEBHOOK_SESSION_ID", "WEBHOOK_DEADLINE"]
]

const sorted = (name: string): string => [...name].sort().join("")

/** How many letters have to be changed, added or removed (Levenshtein). */
const distanceOf = (name: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...name].entries()) {
    const next = [at + 1]
    for (let to = 0; to < other.length; to++)
      next.push(Math.min(row[to]! + (letter === other[to] ? 0 : 1), row[to + 1]! + 1, next[to]! + 1))
    row = next
  }
  return row[other.length]!
}

/** Whether one or two letters differ, or two have changed places. Short names would be similar to those of other programs. */
const isSimilar = (name: string, setting: string): boolean => {
  if (setting.length < 8) return false
  const distance = distanceOf(name, setting)
  return distance <= (setting.length < 12 ? 1 : 2) || (distance === 2 && sorted(name) === sorted(setting))
}

/** Warns of variables of the environment that are no settings, but similar to one. */
export const warnOfMisspelled = (...tables: ReadonlyArray<Table>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const settings = tables.flatMap(variablesOf)
    const known = new Set([...settings, ...others])
    const misspelled = Object.keys(process.env).filter((name) => name.length >= 7 && !known.has(name))
    return Effect.forEach(
      misspelled.flatMap((name) => {
        const setting = settings.find((setting) => isSimilar(name, setting))
        return setting === undefined ? [] : [`${name} is not a setting; did you mean ${setting}?`]
      }),
      (warning) => Effect.logWarning(warning),
      { discard: true }
    )
  })

const given = (name: string) =>
  Effect.map(Effect.orDie(Config.withDefault(Config.String(name), "")), (text) => ({ given: text }))

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const faultsOf = ({ cause }: Config.ConfigError): ReadonlyArray<SettingFault> =>
  cause._tag === "SourceError"
    ? [{ name: "", accepts: cause.message }]
    : format(cause.issue).issues.map(({ message, path = [] }) => ({ name: path.join("_"), accepts: message }))

/** Reads a table of settings. Reports all invalid values at once. */
export const load = <T extends Table>(table: T): Effect.Effect<Values<T>, SettingsInvalid> => {
  const secrets = new Set(secretsOf(table))
  return Effect.catch(configOf(table), (error) =>
    Effect.flatMap(
      Effect.forEach(faultsOf(error), (fault) =>
        secrets.has(fault.name)
          ? Effect.succeed(fault)
          : Effect.map(given(fault.name), (more) => ({ ...fault, ...more }))
      ),
      (faults) => Effect.fail(new SettingsInvalid({ faults }))
    )
  )
}
