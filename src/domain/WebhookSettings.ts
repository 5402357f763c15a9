/**
 * A webhook's optional settings, each said once: its schema, its column, its option of the command line and its field in
 * the web UI's form follow from its line here. Plain data: the form loads it without `Schema`, which is 120 KB of
 * compressed JavaScript.
 */

interface Described {
  /** For the API's documentation; what holds without it included. */
  readonly description: string
  /** The label of its field in the web UI. */
  readonly label: string
  /** The option of the command line, without its dashes, and what its value is called there. */
  readonly option: string
  readonly value: string
  /** What it does, as the command line's help and the form say it. */
  readonly help: string
  /** The server's setting that holds for a webhook without one of its own. */
  readonly serverSetting: string
}

/** A whole number within its bounds. */
export interface WholeNumberSetting extends Described {
  readonly kind: "whole number"
  readonly min: number
  readonly max: number
  /** What it counts, when that is not plain from its label. */
  readonly unit?: string
}

export type WebhookSetting = WholeNumberSetting

export const webhookSettings = {
  timeout_seconds: {
    kind: "whole number",
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "Seconds to wait for an answer; absent: the server's `WEBHOOK_TIMEOUT`.",
    label: "Timeout",
    option: "timeout",
    value: "seconds",
    help: "How long an answer may take",
    serverSetting: "WEBHOOK_TIMEOUT"
  },
  max_concurrent: {
    kind: "whole number",
    min: 1,
    max: 10_000,
    description: "Simultaneous runs; absent: the server's `WEBHOOK_MAX_CONCURRENT`.",
    label: "Concurrent runs",
    option: "max-concurrent",
    value: "count",
    help: "How many runs of it at once; more triggers are queued",
    serverSetting: "WEBHOOK_MAX_CONCURRENT"
  }
} as const satisfies { readonly [name: string]: WebhookSetting }

export type WebhookSettingName = keyof typeof webhookSettings

export const webhookSettingNames = Object.keys(webhookSettings) as ReadonlyArray<WebhookSettingName>

/** What the setting accepts, in words: `must be a whole number of seconds from 1 to 86400`. */
export const accepts = ({ max, min, unit }: WebhookSetting & { readonly unit?: string }): string =>
  `must be a whole number ${unit === undefined ? "" : `of ${unit} `}from ${min} to ${max}`
