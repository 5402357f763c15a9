import { type Config, Context, Layer } from "effect"
import { config, defaults, type SettingsValues } from "./SettingsConfig.ts"

export type { SettingsValues }

/** The engine's settings; `SettingsConfig.ts` describes each of them. */
export class Settings extends Context.Service<Settings, SettingsValues>()("webhook-trigger/Settings") {
  static readonly defaults: SettingsValues = defaults

  /** The defaults, overridden by the given values. */
  static readonly layer = (values: Partial<SettingsValues> = {}): Layer.Layer<Settings> =>
    Layer.succeed(Settings, { ...defaults, ...values })

  /** Reads the variables of the `ConfigProvider`. Absent ones get their defaults. */
  static readonly layerConfig: Layer.Layer<Settings, Config.ConfigError> = Layer.effect(Settings, config)
}
