import { type Config, Duration } from "effect"
import {
  configOf,
  defaultsOf,
  duration,
  fixed,
  size,
  type Values,
  wholeNumber,
  withDefault,
  wordFor
} from "../settings/EnvironmentVariable.ts"

/** The engine's settings, each described once. Limits count runs, sizes are bytes. */
const settings = {
  /** Runs in flight at once, over all webhooks; also the limit of a webhook that has none of its own. */
  maxConcurrent: withDefault("WEBHOOK_MAX_CONCURRENT", wholeNumber(1, 10_000), 20),
  /** The timeout of a webhook without its own. */
  timeout: withDefault("WEBHOOK_TIMEOUT", duration("1 second", "1 day", "5 minutes"), Duration.minutes(5)),
  /** Accepted runs that wait to be sent; more are refused. */
  maxQueued: withDefault("WEBHOOK_MAX_QUEUED", wholeNumber(1, 10_000_000), 10_000),
  /** A request body's size in bytes. */
  maxBody: withDefault("WEBHOOK_MAX_BODY", size(1024, 64 * 1024 ** 2, "1 MiB"), 1024 * 1024),
  /** The bodies of triggers that are being received or answered, together, in bytes. */
  maxBodies: withDefault("WEBHOOK_MAX_BODIES", size(1024 ** 2, 1024 ** 4, "128 MiB"), 128 * 1024 ** 2),
  /**
   * Whether the first thing that this process does as the dispatcher is to send again whatever is in flight: after a restore,
   * when the rows are older than what the broker has.
   */
  resendRunning: withDefault("RESEND_RUNNING", wordFor({ true: true, false: false }), false),
  /** A rendered prompt's size in bytes of UTF-8. */
  maxPrompt: fixed(256 * 1024)
}

/** An interface, so that declarations of a host can name it. */
export interface SettingsValues extends Values<typeof settings> {}

/** The limit of a webhook without `max_queued`: a tenth of the server's, so that others have room. */
export const maxQueuedOfWebhook = ({ maxQueued }: SettingsValues): number => Math.ceil(maxQueued / 10)

export const defaults: SettingsValues = defaultsOf(settings)

/**
 * The engine's settings from the variables of the `ConfigProvider`, with the defaults for those that are absent. Fails with
 * all faults at once.
 */
export const config: Config.Config<SettingsValues> = configOf(settings)
