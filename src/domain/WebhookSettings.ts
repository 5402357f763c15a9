/**
 * A webhook's optional settings, each defined once: its schema, its column, its command-line option, and its field and
 * its line in the web UI follow from its entry here. Plain data: the web UI loads it without `Schema`, which is 120 KB
 * of compressed JavaScript.
 */

import { rateAccepts, ratePattern } from "./Rate.ts"

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
  /** What applies to a webhook without one of its own, in words: `the server's WEBHOOK_TIMEOUT`. */
  readonly default: string
  /** The field of `GET /api/server` that holds that default, when the server has one. */
  readonly serverDefault?: string
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

/** A short text of a fixed form. */
export interface TextSetting extends Described {
  readonly kind: "text"
  /** A regular expression, for JSON Schema too. */
  readonly pattern: string
  /** What it must be, as an error message. */
  readonly accepts: string
}

/** One of several words. */
export interface ChoiceSetting extends Described {
  readonly kind: "choice"
  readonly words: readonly [string, ...ReadonlyArray<string>]
}

export type WebhookSetting = WholeNumberSetting | TextSetting | ChoiceSetting

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
    default: "the server's WEBHOOK_TIMEOUT",
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
    default: "the server's WEBHOOK_MAX_CONCURRENT",
    serverDefault: "webhook_max_concurrent"
  },
  max_queued: {
    kind: "whole number",
    min: 1,
    max: 10_000_000,
    description:
      "How many accepted runs may wait to be sent; further triggers are refused with 429. If absent, a tenth of the server's `WEBHOOK_MAX_QUEUED` applies, which is the limit of all webhooks together.",
    label: "Queue limit",
    option: "max-queued",
    value: "count",
    help: "How many runs may wait; further triggers are refused",
    default: "a tenth of the server's WEBHOOK_MAX_QUEUED",
    serverDefault: "webhook_max_queued"
  },
  rate: {
    kind: "text",
    pattern: ratePattern,
    accepts: rateAccepts,
    description:
      "How many triggers are accepted in which time, such as `60/min` (`sec`, `min`, `hour` or `day`); further ones are refused with 429. As many may come at once after a pause; then they are accepted evenly over that time. If absent, there is no limit.",
    label: "Rate limit",
    option: "rate",
    value: "count/time",
    help: "How many triggers are accepted in which time, such as 60/min; further triggers are refused",
    default: "no limit"
  },
  when_team_stopped: {
    kind: "choice",
    words: ["refuse", "queue"],
    description:
      "What becomes of a trigger while the team has no leader: it is refused with 409 (`refuse`, the default), or accepted, and sent once there is a leader (`queue`). A caller that waits for the answer is refused in any case.",
    label: "While the team has no leader",
    option: "when-team-stopped",
    value: "refuse|queue",
    help: "What becomes of a trigger while the team has no leader: it is refused, or it waits for one",
    default: "refuse"
  },
  queue_for_seconds: {
    kind: "whole number",
    min: 1,
    max: 2_592_000,
    unit: "seconds",
    description:
      "With `when_team_stopped: queue`, how many seconds a run may wait for a leader; then it ends as `error`, code `team_not_running`. If absent, 24 hours.",
    label: "Longest wait for a leader",
    option: "queue-for",
    value: "seconds",
    help: "How long a trigger waits for a leader, if it does",
    default: "24 hours"
  }
} as const satisfies { readonly [name: string]: WebhookSetting }

export type WebhookSettingName = keyof typeof webhookSettings

/** Its value, as JSON has it. */
export type SettingValue<Setting extends WebhookSetting> = Setting extends WholeNumberSetting
  ? number
  : Setting extends ChoiceSetting
    ? Setting["words"][number]
    : string

/** The values of a webhook's settings, by name. */
export type SettingValues = {
  readonly [Name in WebhookSettingName]: SettingValue<(typeof webhookSettings)[Name]>
}

export const webhookSettingNames = Object.keys(webhookSettings) as ReadonlyArray<WebhookSettingName>

/** What the setting accepts, as an error message: `must be a whole number of seconds from 1 to 86400`. */
export const accepts = (setting: WebhookSetting): string => {
  switch (setting.kind) {
    case "whole number": {
      const { max, min, unit } = setting
      return `must be a whole number ${unit === undefined ? "" : `of ${unit} `}from ${min} to ${max}`
    }
    case "text":
      return setting.accepts
    case "choice":
      return `must be one of ${setting.words.join(", ")}`
  }
}

/** The value that a person has typed for the setting; text that cannot be one is left as it was typed. */
export const valueOf = ({ kind }: WebhookSetting, typed: string): number | string => {
  switch (kind) {
    case "whole number":
      return /^\d+$/.test(typed) ? Number(typed) : typed
    case "text":
    case "choice":
      return typed
  }
}

/** Whether the setting may have this value. */
export const isAccepted = (setting: WebhookSetting, value: number | string): boolean => {
  switch (setting.kind) {
    case "whole number":
      return Number.isInteger(value) && Number(value) >= setting.min && Number(value) <= setting.max
    case "text":
      return new RegExp(setting.pattern).test(String(value))
    case "choice":
      return setting.words.includes(String(value))
  }
}
