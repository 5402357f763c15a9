/**
 * A webhook's optional settings, each defined once: its schema, its column, its command-line option, and its field and
 * its line in the web UI follow from its entry here. Plain data: the web UI loads it without `Schema`, which is 120 KB
 * of compressed JavaScript.
 */

interface Described {
  /** For the API's documentation, including what applies without it. */
  readonly description: string
  /** Its name in the web UI, without its unit. */
  readonly label: string
  /** The command-line option, without its dashes, and the name of its value there. */
  readonly option: string
  readonly value: string
  /** What it does, for the command line's help and the web UI's form: no full stop at the end. */
  readonly help: string
  /** The server's setting that applies to a webhook without one of its own. */
  readonly serverSetting: string
  /** The field of `GET /api/server` that holds the value of `serverSetting`. */
  readonly serverDefault: string
}

/** A unit that the web UI knows how to write. */
export type Unit = "seconds"

/** A whole number within its bounds. */
export interface WholeNumberSetting extends Described {
  readonly kind: "whole number"
  readonly min: number
  readonly max: number
  /** Absent for a plain count. */
  readonly unit?: Unit
}

export type WebhookSetting = WholeNumberSetting

export const webhookSettings = {
  timeout_seconds: {
    kind: "whole number",
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "How many seconds a run may take; if absent, the server's `WEBHOOK_TIMEOUT` applies.",
    label: "Timeout",
    option: "timeout",
    value: "seconds",
    help: "How long a run may take before it times out",
    serverSetting: "WEBHOOK_TIMEOUT",
    serverDefault: "webhook_timeout_seconds"
  },
  max_concurrent: {
    kind: "whole number",
    min: 1,
    max: 10_000,
    description:
      "How many runs may be in progress at the same time; if absent, the server's `WEBHOOK_MAX_CONCURRENT` applies.",
    label: "Concurrency limit",
    option: "max-concurrent",
    value: "count",
    help: "How many runs may be in progress at the same time; further runs are queued",
    serverSetting: "WEBHOOK_MAX_CONCURRENT",
    serverDefault: "webhook_max_concurrent"
  }
} as const satisfies { readonly [name: string]: WebhookSetting }

export type WebhookSettingName = keyof typeof webhookSettings

export const webhookSettingNames = Object.keys(webhookSettings) as ReadonlyArray<WebhookSettingName>

/** What the setting accepts, as an error message: `must be a whole number of seconds from 1 to 86400`. */
export const accepts = ({ max, min, unit }: WebhookSetting): string =>
  `must be a whole number ${unit === undefined ? "" : `of ${unit} `}from ${min} to ${max}`
