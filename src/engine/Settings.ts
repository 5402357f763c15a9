import { Context, Duration, Layer } from "effect"

/** What the engine can be told. Limits count runs, sizes are bytes. */
export interface SettingsValues {
  /** Runs in flight at once, over all webhooks; also the limit of a webhook that has none of its own. */
  readonly maxConcurrent: number
  /** How long an answer may take when the webhook says nothing else. */
  readonly timeout: Duration.Duration
  /** Accepted runs that wait to be sent; more are refused. */
  readonly maxQueued: number
  /** A request body's size in bytes. */
  readonly maxBody: number
  /** A rendered prompt's size in bytes of UTF-8. */
  readonly maxPrompt: number
}

export class Settings extends Context.Tag("webhook-trigger/Settings")<Settings, SettingsValues>() {
  static readonly defaults: SettingsValues = {
    maxConcurrent: 20,
    timeout: Duration.minutes(5),
    maxQueued: 10_000,
    maxBody: 1024 * 1024,
    maxPrompt: 256 * 1024
  }
  /** The defaults, with what is given in their place. */
  static readonly layer = (values: Partial<SettingsValues> = {}): Layer.Layer<Settings> =>
    Layer.succeed(Settings, { ...Settings.defaults, ...values })
}
