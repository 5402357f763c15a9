import { Config, type ConfigError, Data, Effect } from "effect"
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

const given = (name: string) =>
  Effect.map(Effect.orDie(Config.withDefault(Config.string(name), "")), (text) => ({ given: text }))

const faultsOf = (
  error: ConfigError.ConfigError
): ReadonlyArray<{ readonly name: string; readonly accepts: string }> =>
  error._op === "And" || error._op === "Or"
    ? [...faultsOf(error.left), ...faultsOf(error.right)]
    : [{ name: error.path.join("_"), accepts: error.message }]

/** Reads a table of settings. Reports all invalid values at once. */
export const load = <T extends Table>(table: T): Effect.Effect<Values<T>, SettingsInvalid> => {
  const secrets = new Set(secretsOf(table))
  return Effect.catchAll(configOf(table), (error) =>
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
