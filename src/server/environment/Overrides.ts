import { ConfigProvider, Effect } from "effect"
import { exitCodes, Failure } from "../../cli/Failure.ts"
import type { Overrides } from "../../cli/LocalCommands.ts"
import type { SettingsInvalid } from "./LoadSettings.ts"

/** Options of the command line take the place of the variables that they name. */
export const withOverrides =
  (overrides: Overrides) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.configProviderWith((environment) =>
      Effect.withConfigProvider(
        effect,
        ConfigProvider.orElse(ConfigProvider.fromMap(new Map(overrides)), () => environment)
      )
    )

/** All faults of the settings, as the command reports them. */
export const settingsInvalid = (subject: "The server" | "The leader", { faults }: SettingsInvalid): Failure =>
  new Failure({
    exit: exitCodes.usage,
    title: `${subject} did not start: these settings cannot be used (docs/settings.md)`,
    faults: faults.map(({ accepts, given, name }) => ({
      pointer: name,
      detail:
        given === undefined
          ? `${accepts}; the given value is not shown, as it may be a secret`
          : `${accepts}, not ${JSON.stringify(given)}`
    }))
  })
