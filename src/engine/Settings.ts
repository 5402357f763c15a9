import { type ConfigError, Context, Layer } from "effect"
import { config, defaults, type SettingsValues } from "./SettingsConfig.ts"

export type { SettingsValues }

/** The engine's settings; `SettingsConfig.ts` describes each of them. */
export class Settings extends Context.Tag("webhook-trigger/Settings")<Settings, SettingsValues>() {
  static readonly defaults: SettingsValues = defaults

  /** The defaults, with the given values in their place. */
  static readonly layer = (values: Partial<SettingsValues> = {}): Layer.Layer<Settings> =>
    Layer.succeed(Settings, { ...defaults, ...values })

  /** From the variables of the `ConfigProvider`, with the defaults for those that are absent. */
  static readonly layerConfig: Layer.Layer<Settings, ConfigError.ConfigError> = Layer.effect(Settings, config)
}
