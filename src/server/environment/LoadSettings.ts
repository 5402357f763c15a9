import { AutoCorrect } from "@effect/cli"
import { Config, Data, Effect } from "effect"
import { CliConfig } from "effect/cli"
import { type ConfigError } from "effect"
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

/** Whether one or two letters differ, or two have changed places. Short names would be similar to those of other programs. */
const isSimilar = (name: string, setting: string): boolean => {
  if (setting.length < 8) return false
  const distance = AutoCorrect.levensteinDistance(name, setting, CliConfig.defaultConfig)
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

const faultsOf = (
  error: ConfigError.ConfigError
): ReadonlyArray<{ readonly name: string; readonly accepts: string }> =>
  error._op === "And" || error._op === "Or"
    ? [...faultsOf(error.left), ...faultsOf(error.right)]
    : [{ name: error.path.join("_"), accepts: error.message }]

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
