import { ConfigProvider, Effect } from "effect"
import { exitCodes, Failure } from "../../cli/Failure.ts"
import type { Overrides } from "../../cli/LocalCommands.ts"
import type { SettingsInvalid } from "./LoadSettings.ts"

/** Command-line options override environment variables. */
export const withOverrides =
  (overrides: Overrides) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.updateService(effect, ConfigProvider.ConfigProvider, (environment) =>
      ConfigProvider.orElse(
        // An empty value hides that of the environment.
        ConfigProvider.fromUnknown(Object.fromEntries(overrides), { preserveEmptyStrings: true }),
        environment
      )
    )

export const settingsInvalid = (
  subject: "The server" | "The leader" | "The check",
  { faults }: SettingsInvalid
): Failure =>
  new Failure({
    exit: exitCodes.usage,
    title: `${subject} did not start because of invalid settings (see docs/reference/settings.md)`,
    faults: faults.map(({ accepts, given, name }) => ({
      pointer: name,
      detail:
        given === undefined
          ? `${accepts} (the value is not shown because it may be secret)`
          : `${accepts}, not ${JSON.stringify(given)}`
    }))
  })
