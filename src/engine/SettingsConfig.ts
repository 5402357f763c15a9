import { type Config, Duration, Option } from "effect"
import {
  amount,
  configOf,
  defaultsOf,
  duration,
  durationOrOff,
  fixed,
  size,
  type Values,
  wholeNumber,
  withDefault,
  wordFor
} from "../settings/EnvironmentVariable.ts"

/** The engine's settings, each described once. Limits count runs, sizes are bytes. */
export const settings = {
  /** Maximum runs that are out over all webhooks, and the default limit of a webhook. */
  maxConcurrent: withDefault("WEBHOOK_MAX_CONCURRENT", wholeNumber(1, 10_000), 20),
  /** The timeout of a webhook without its own. */
  timeout: withDefault("WEBHOOK_TIMEOUT", duration("1 second", "1 day", "5 minutes"), Duration.minutes(5)),
  /** How long an agent may work after its caller stopped waiting, of a webhook without its own; at least the timeout. */
  maxWork: withDefault("WEBHOOK_MAX_WORK", duration("1 second", "7 days", "1 hour"), Duration.hours(1)),
  /** How long a leader may take to confirm that its agent has stopped. */
  stopGrace: fixed(Duration.seconds(30)),
  /** Maximum accepted runs that wait to be sent. */
  maxQueued: withDefault("WEBHOOK_MAX_QUEUED", wholeNumber(1, 10_000_000), 10_000),
  /** The cost that `max_cost_per_day` assumes for a run whose cost is unknown, in US dollars. */
  unknownCost: withDefault("WEBHOOK_UNKNOWN_COST", amount(0, 1_000_000), 0),
  /** Maximum size of a request body, in bytes. */
  maxBody: withDefault("WEBHOOK_MAX_BODY", size(1024, 64 * 1024 ** 2, "1 MiB"), 1024 * 1024),
  /** Maximum total size of the bodies of open triggers, in bytes. */
  maxBodies: withDefault("WEBHOOK_MAX_BODIES", size(1024 ** 2, 1024 ** 4, "128 MiB"), 128 * 1024 ** 2),
  /** How long a thread has no runs until it ends. */
  threadIdle: withDefault(
    "THREAD_IDLE",
    durationOrOff("1 minute", "36500 days", "7 days"),
    Option.some(Duration.days(7))
  ),
  /**
   * Whether this process, when it first does the work of each second, sends every run that is out again: for a restore,
   * when the rows are older than the broker's state.
   */
  resendRunning: withDefault("RESEND_RUNNING", wordFor({ true: true, false: false }), false),
  /** Maximum size of a rendered prompt, in bytes of UTF-8. */
  maxPrompt: fixed(256 * 1024)
}

/** An interface, so that declarations of a host can name it. */
export interface SettingsValues extends Values<typeof settings> {}

/** The limit of a webhook without `max_queued`: a tenth of the server's, so that others have room. */
export const maxQueuedOfWebhook = ({ maxQueued }: SettingsValues): number => Math.ceil(maxQueued / 10)

export const defaults: SettingsValues = defaultsOf(settings)

/**
 * Reads the engine's settings from the variables of the `ConfigProvider`. Absent ones get their defaults. Fails with
 * all faults at once.
 */
export const config: Config.Config<SettingsValues> = configOf(settings)
