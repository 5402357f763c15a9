/** The kinds of webhook settings, and how their values are written. Plain data, like `WebhookSettings.ts`. */
import * as Json from "../Json.ts"
import { isNetwork } from "./Network.ts"

/** The groups in the web UI's form, in this order. */
export const settingGroups = {
  template: "Input and template",
  callers: "Callers",
  requests: "Requests",
  bursts: "Bursts and newer requests",
  approval: "Approval",
  limits: "Limits",
  agent: "Agent",
  failures: "Unavailable teams and retries",
  tool: "Tool for AI assistants (MCP)"
} as const

export type SettingGroup = keyof typeof settingGroups

interface Described {
  readonly group: SettingGroup
  /** For the API's documentation, with the default. */
  readonly description: string
  /** Its name in the web UI, without its unit. */
  readonly label: string
  /** The command-line option, without its dashes, and the name of its value there. */
  readonly option: string
  readonly value: string
  /** For the command line's help and the web UI's form, without a full stop. */
  readonly help: string
  /** How its text is written, for the command line's help. The form has a field for each part. */
  readonly written?: string
  /** The default in words: `the server's WEBHOOK_TIMEOUT`. */
  readonly default: string
  /** The field of `GET /api/server` with the default, if the server has one. */
  readonly serverDefault?: string
}

interface WholeNumberSetting extends Described {
  readonly kind: "whole number"
  readonly min: number
  readonly max: number
  /** Absent for a plain count. */
  readonly unit?: "seconds"
}

/** An amount of US dollars. */
interface AmountSetting extends Described {
  readonly kind: "amount"
  readonly max: number
}

/** A short text in a fixed format. */
interface TextSetting extends Described {
  readonly kind: "text"
  /** A regular expression, also for JSON Schema. */
  readonly pattern: string
  /** As an error message: `must be …`. */
  readonly accepts: string
}

/** One of several words. */
interface ChoiceSetting extends Described {
  readonly kind: "choice"
  readonly words: readonly [string, ...ReadonlyArray<string>]
}

/** An expression in another language. Its syntax is checked when it is saved. */
interface ExpressionSetting extends Described {
  readonly kind: "expression"
  readonly language: string
  /** In characters. */
  readonly maxLength: number
}

/** A template in the webhook's own language. Its syntax is checked when it is saved. */
interface TemplateSetting extends Described {
  readonly kind: "template"
  /** In characters. */
  readonly maxLength: number
}

/** Another webhook: by its ID, in files and commands also by its name. Whether it exists is checked when it is saved. */
interface WebhookReference extends Described {
  readonly kind: "webhook"
}

/** On or off. */
interface SwitchSetting extends Described {
  readonly kind: "switch"
}

/** A path into the input and a time: `payload.pull_request.number 30`, with `quiet=10` and `collect=all` after it. */
interface WindowSetting extends Described {
  readonly kind: "window"
  /** In seconds. */
  readonly longest: number
}

export const collected = ["last", "all"] as const

/** Requests with the same value of `key` within this many seconds of the first. */
export interface Window {
  readonly key: string
  readonly within: number
  /** It ends earlier, if nothing comes for this many seconds. */
  readonly quiet?: number
  /** The requests whose values the prompt gets; default: the last. */
  readonly collect?: (typeof collected)[number]
}

/** A template of a key and a word, separated by a space: `{{payload.number}} supersede`. */
interface SingletonSetting extends Described {
  readonly kind: "singleton"
  /** The template's maximum length, in characters. */
  readonly maxLength: number
}

/** How a new request is handled while a run with its key is not over. */
export const singletonWords = ["queue", "skip", "supersede"] as const

/** `key` is a template, as for a conversation. */
export interface Singleton {
  readonly key: string
  readonly on_new: (typeof singletonWords)[number]
}

/** A JSON object. Its content is checked when it is saved. */
interface JsonSetting extends Described {
  readonly kind: "json"
  /** Characters of its compact JSON. */
  readonly maxLength: number
}

/** A list of addresses and networks, separated by commas or spaces. */
interface NetworksSetting extends Described {
  readonly kind: "networks"
  readonly most: number
}

/** A list of short texts in a fixed format, separated by commas. */
interface ListSetting extends Described {
  readonly kind: "list"
  readonly most: number
  /** A regular expression for each of them, also for JSON Schema. */
  readonly pattern: string
  /** As an error message: `must be …`. */
  readonly accepts: string
}

/** The number of retries and the first delay: `3/60`. */
interface RetriesSetting extends Described {
  readonly kind: "retries"
  readonly mostRetries: number
  readonly mostSeconds: number
}

export interface Retries {
  /** The maximum number of retries. */
  readonly max_retries: number
  /** The delay after the first failure. It doubles after each further failure. */
  readonly backoff_seconds: number
}

export type WebhookSetting =
  | WholeNumberSetting
  | AmountSetting
  | TextSetting
  | ExpressionSetting
  | TemplateSetting
  | ChoiceSetting
  | WebhookReference
  | SwitchSetting
  | WindowSetting
  | SingletonSetting
  | JsonSetting
  | NetworksSetting
  | ListSetting
  | RetriesSetting

export type JsonObject = { readonly [name: string]: unknown }

/** As long as a name. */
export const longestReference = 255

/** A value as JSON. */
export type Value = number | string | boolean | ReadonlyArray<string> | JsonObject | Window | Singleton | Retries

/** The value of a setting as JSON. */
export type SettingValue<Setting extends WebhookSetting> = Setting extends WholeNumberSetting | AmountSetting
  ? number
  : Setting extends ChoiceSetting
    ? Setting["words"][number]
    : Setting extends NetworksSetting | ListSetting
      ? ReadonlyArray<string>
      : Setting extends SwitchSetting
        ? boolean
        : Setting extends JsonSetting
          ? JsonObject
          : Setting extends WindowSetting
            ? Window
            : Setting extends SingletonSetting
              ? Singleton
              : Setting extends RetriesSetting
                ? Retries
                : string

/** The error message for an invalid value: `must be a whole number of seconds from 1 to 86400`. */
export const accepts = (setting: WebhookSetting): string => {
  switch (setting.kind) {
    case "whole number": {
      const { max, min, unit } = setting
      return `must be a whole number ${unit === undefined ? "" : `of ${unit} `}from ${min} to ${max}`
    }
    case "amount":
      return `must be an amount of US dollars from 0.01 to ${setting.max}, such as 2.50`
    case "text":
    case "list":
      return setting.accepts
    case "expression":
      return `must be a ${setting.language} expression of at most ${setting.maxLength} characters`
    case "template":
      return `must be a template of at most ${setting.maxLength} characters`
    case "choice":
      return `must be one of ${setting.words.join(", ")}`
    case "webhook":
      return "must be the ID of another webhook, or in commands and files its name"
    case "switch":
      return "must be true or false"
    case "window":
      return `must be a variable name and 1 to ${setting.longest} seconds, such as \`branch 30\`, then, if wanted, \`quiet=10\` (at most the seconds before it) and \`collect=all\` (JSON: \`{key, within, quiet?, collect?}\`)`
    case "singleton":
      return `must be a template of at most ${setting.maxLength} characters and one of ${singletonWords.join(", ")}, such as \`{{number}} supersede\` (JSON: \`{key, on_new}\`)`
    case "json":
      return `must be a JSON object of at most ${setting.maxLength} characters`
    case "networks":
      return `must be 1 to ${setting.most} addresses or networks, such as 192.0.2.7 or 10.0.0.0/8`
    case "retries":
      return `must be 1 to ${setting.mostRetries} retries and a first delay of 1 to ${setting.mostSeconds} seconds, such as 3/60`
  }
}

/** Parses a typed value. Invalid text is returned unchanged. */
export const valueOf = ({ kind }: WebhookSetting, typed: string): Value => {
  switch (kind) {
    case "whole number":
      return /^\d+$/.test(typed) ? Number(typed) : typed
    case "amount":
      return /^\d+(\.\d+)?$/.test(typed) ? Number(typed) : typed
    case "text":
    case "expression":
    case "template":
    case "choice":
    case "webhook":
      return typed
    case "switch":
      return typed === "true" ? true : typed === "false" ? false : typed
    case "window": {
      const [, key, within, quiet, collect] =
        /^(.+?)\s+(\d+)(?:\s+quiet=(\d+))?(?:\s+collect=(last|all))?$/.exec(typed) ?? []
      if (key === undefined) return typed
      return {
        ...{ key, within: Number(within) },
        ...(quiet !== undefined && { quiet: Number(quiet) }),
        ...(collect !== undefined && { collect: collect as NonNullable<Window["collect"]> })
      }
    }
    case "singleton": {
      const [, key, on_new] = /^(.+?)\s+(\S+)$/s.exec(typed) ?? []
      return key === undefined ? typed : { key, on_new: on_new as Singleton["on_new"] }
    }
    case "json":
      try {
        return (Json.parse(typed) as Value | null) ?? typed
      } catch {
        return typed
      }
    case "networks":
      return typed.split(/[\s,]+/).filter((text) => text !== "")
    case "list":
      return typed
        .split(",")
        .map((text) => text.trim())
        .filter((text) => text !== "")
    case "retries": {
      const [, retries, seconds] = /^(\d+)\s*\/\s*(\d+)$/.exec(typed) ?? []
      return retries === undefined ? typed : { max_retries: Number(retries), backoff_seconds: Number(seconds) }
    }
  }
}

export const isAccepted = (setting: WebhookSetting, value: Value): boolean => {
  switch (setting.kind) {
    case "whole number":
      return Number.isInteger(value) && Number(value) >= setting.min && Number(value) <= setting.max
    case "amount":
      return typeof value === "number" && value >= 0.01 && value <= setting.max
    case "text":
      return new RegExp(setting.pattern).test(String(value))
    case "expression":
    case "template":
      return typeof value === "string" && value !== "" && value.length <= setting.maxLength
    case "choice":
      return setting.words.includes(String(value))
    case "webhook":
      return typeof value === "string" && value !== "" && value.length <= longestReference
    case "switch":
      return typeof value === "boolean"
    case "window":
      return (
        isWindow(value) &&
        /^[^{}\r\n]{1,256}$/.test(value.key) &&
        isWithin(value.within, setting.longest) &&
        (value.quiet === undefined || isWithin(value.quiet, value.within)) &&
        (value.collect === undefined || collected.includes(value.collect))
      )
    case "singleton":
      return (
        isSingleton(value) &&
        value.key.trim() !== "" &&
        value.key.length <= setting.maxLength &&
        singletonWords.includes(value.on_new)
      )
    case "json":
      return isObject(value) && JSON.stringify(value).length <= setting.maxLength
    case "networks":
      return Array.isArray(value) && value.length > 0 && value.length <= setting.most && value.every(isNetwork)
    case "list": {
      const pattern = new RegExp(setting.pattern)
      return (
        Array.isArray(value) &&
        value.length > 0 &&
        value.length <= setting.most &&
        value.every((text) => typeof text === "string" && pattern.test(text))
      )
    }
    case "retries": {
      if (!isRetries(value)) return false
      const { max_retries, backoff_seconds } = value
      return isWithin(max_retries, setting.mostRetries) && isWithin(backoff_seconds, setting.mostSeconds)
    }
  }
}

const isObject = (value: Value): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isWindow = (value: Value): value is Window =>
  isObject(value) &&
  typeof value.key === "string" &&
  typeof value.within === "number" &&
  Object.keys(value).every((name) => windowFields.includes(name))

const windowFields: ReadonlyArray<string> = ["key", "within", "quiet", "collect"] satisfies ReadonlyArray<keyof Window>

const isSingleton = (value: Value): value is Singleton =>
  isObject(value) && typeof value.key === "string" && Object.keys(value).sort().join() === "key,on_new"

const isRetries = (value: Value): value is Retries =>
  isObject(value) && Object.keys(value).sort().join() === "backoff_seconds,max_retries"

const isWithin = (value: unknown, most: number): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most

/** The value as typed text. */
export const textOf = (value: Value): string => {
  if (isWindow(value)) {
    const { collect, key, quiet, within } = value
    return [key, within, ...(quiet ? [`quiet=${quiet}`] : []), ...(collect ? [`collect=${collect}`] : [])].join(" ")
  }
  if (isSingleton(value)) return `${value.key} ${value.on_new}`
  if (isRetries(value)) return `${value.max_retries}/${value.backoff_seconds}`
  return isObject(value) ? JSON.stringify(value) : Array.isArray(value) ? value.join(", ") : String(value)
}
