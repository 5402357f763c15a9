/** What a webhook's optional settings can be, and how their values are written. Plain data, as `WebhookSettings.ts`. */
import { isNetwork } from "./Network.ts"

/** Under which headings the web UI's form shows them, in this order. */
export const settingGroups = {
  template: "Input and template",
  callers: "Callers",
  requests: "Requests",
  limits: "Limits",
  failures: "Stopped teams and failures"
} as const

export type SettingGroup = keyof typeof settingGroups

interface Described {
  readonly group: SettingGroup
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

/** An expression in another language; whether it is one is checked when it is saved. */
export interface ExpressionSetting extends Described {
  readonly kind: "expression"
  readonly language: string
  /** In characters. */
  readonly maxLength: number
}

/** On or off. */
export interface SwitchSetting extends Described {
  readonly kind: "switch"
}

/** A path into the input and a time, typed with a blank between them: `payload.pull_request.number 30`. */
export interface WindowSetting extends Described {
  readonly kind: "window"
  /** In seconds. */
  readonly longest: number
}

/** What is found at the path is the same within so many seconds. */
export interface Window {
  readonly key: string
  readonly within: number
}

/** A JSON object, typed as its JSON; what it may hold is checked when it is saved. */
export interface JsonSetting extends Described {
  readonly kind: "json"
  /** Characters of its compact JSON. */
  readonly maxLength: number
}

/** A list of addresses and networks, typed with commas or blanks between them. */
export interface NetworksSetting extends Described {
  readonly kind: "networks"
  readonly most: number
}

/** How often a failed run is tried again, and after how long; typed as `3/60`. */
export interface RetriesSetting extends Described {
  readonly kind: "retries"
  readonly mostAttempts: number
  readonly mostSeconds: number
}

export interface Retries {
  /** How often it is tried again at most. */
  readonly attempts: number
  /** How long after the first failure; twice as long after each further one. */
  readonly backoff_seconds: number
}

export type WebhookSetting =
  | WholeNumberSetting
  | TextSetting
  | ExpressionSetting
  | ChoiceSetting
  | SwitchSetting
  | WindowSetting
  | JsonSetting
  | NetworksSetting
  | RetriesSetting

export type JsonObject = { readonly [name: string]: unknown }

/** A value, as JSON has it. */
export type Value = number | string | boolean | ReadonlyArray<string> | JsonObject | Window | Retries

/** Its value, as JSON has it. */
export type SettingValue<Setting extends WebhookSetting> = Setting extends WholeNumberSetting
  ? number
  : Setting extends ChoiceSetting
    ? Setting["words"][number]
    : Setting extends NetworksSetting
      ? ReadonlyArray<string>
      : Setting extends SwitchSetting
        ? boolean
        : Setting extends JsonSetting
          ? JsonObject
          : Setting extends WindowSetting
            ? Window
            : Setting extends RetriesSetting
              ? Retries
              : string

/** What the setting accepts, as an error message: `must be a whole number of seconds from 1 to 86400`. */
export const accepts = (setting: WebhookSetting): string => {
  switch (setting.kind) {
    case "whole number": {
      const { max, min, unit } = setting
      return `must be a whole number ${unit === undefined ? "" : `of ${unit} `}from ${min} to ${max}`
    }
    case "text":
      return setting.accepts
    case "expression":
      return `must be a ${setting.language} expression of at most ${setting.maxLength} characters`
    case "choice":
      return `must be one of ${setting.words.join(", ")}`
    case "switch":
      return "must be true or false"
    case "window":
      return `must be \`{key, within}\`: a name as in a template, and from 1 to ${setting.longest} seconds, typed as \`branch 30\``
    case "json":
      return `must be a JSON object of at most ${setting.maxLength} characters`
    case "networks":
      return `must be 1 to ${setting.most} addresses or networks, such as 192.0.2.7 or 10.0.0.0/8`
    case "retries":
      return `must be 1 to ${setting.mostAttempts} attempts after 1 to ${setting.mostSeconds} seconds, such as 3/60`
  }
}

/** The value that a person has typed for the setting; text that cannot be one is left as it was typed. */
export const valueOf = ({ kind }: WebhookSetting, typed: string): Value => {
  switch (kind) {
    case "whole number":
      return /^\d+$/.test(typed) ? Number(typed) : typed
    case "text":
    case "expression":
    case "choice":
      return typed
    case "switch":
      return typed === "true" ? true : typed === "false" ? false : typed
    case "window": {
      const [, key, within] = /^(.+?)\s+(\d+)$/.exec(typed) ?? []
      return key === undefined ? typed : { key, within: Number(within) }
    }
    case "json":
      try {
        return JSON.parse(typed) ?? typed
      } catch {
        return typed
      }
    case "networks":
      return typed.split(/[\s,]+/).filter((text) => text !== "")
    case "retries": {
      const [, attempts, seconds] = /^(\d+)\s*\/\s*(\d+)$/.exec(typed) ?? []
      return attempts === undefined ? typed : { attempts: Number(attempts), backoff_seconds: Number(seconds) }
    }
  }
}

/** Whether the setting may have this value. */
export const isAccepted = (setting: WebhookSetting, value: Value): boolean => {
  switch (setting.kind) {
    case "whole number":
      return Number.isInteger(value) && Number(value) >= setting.min && Number(value) <= setting.max
    case "text":
      return new RegExp(setting.pattern).test(String(value))
    case "expression":
      return typeof value === "string" && value !== "" && value.length <= setting.maxLength
    case "choice":
      return setting.words.includes(String(value))
    case "switch":
      return typeof value === "boolean"
    case "window":
      return (
        isWindow(value) &&
        /^[^{}\r\n]{1,256}$/.test(value.key) &&
        Number.isInteger(value.within) &&
        value.within >= 1 &&
        value.within <= setting.longest
      )
    case "json":
      return isObject(value) && JSON.stringify(value).length <= setting.maxLength
    case "networks":
      return Array.isArray(value) && value.length > 0 && value.length <= setting.most && value.every(isNetwork)
    case "retries": {
      if (!isRetries(value)) return false
      const { attempts, backoff_seconds } = value
      return isWithin(attempts, setting.mostAttempts) && isWithin(backoff_seconds, setting.mostSeconds)
    }
  }
}

const isObject = (value: Value): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isWindow = (value: Value): value is Window =>
  isObject(value) &&
  typeof value.key === "string" &&
  typeof value.within === "number" &&
  Object.keys(value).length === 2

const isRetries = (value: Value): value is Retries =>
  isObject(value) && Object.keys(value).sort().join() === "attempts,backoff_seconds"

const isWithin = (value: number, most: number): boolean => Number.isInteger(value) && value >= 1 && value <= most

/** The value as a person types it. */
export const textOf = (value: Value): string => {
  if (isWindow(value)) return `${value.key} ${value.within}`
  if (isRetries(value)) return `${value.attempts}/${value.backoff_seconds}`
  return isObject(value) ? JSON.stringify(value) : Array.isArray(value) ? value.join(", ") : String(value)
}
