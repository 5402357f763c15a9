/** Fields for the settings in `domain/webhook/WebhookSettings.ts`. */
import * as Json from "../../../domain/Json.ts"
import {
  accepts,
  isAccepted,
  textOf,
  type Value,
  valueOf,
  type WebhookSetting
} from "../../../domain/webhook/WebhookSettingKinds.ts"
import {
  type SettingValues,
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../../domain/webhook/WebhookSettings.ts"
import type { Server, Webhook } from "../../api/Types.ts"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { formatNumber, formatSeconds, sentence } from "../../format/Format.ts"
import { SharedUrlField, WebhookName } from "../webhook/SharedUrl.tsx"
import { ComposedField, composed, DurationField } from "./SettingParts.tsx"

const format = (setting: WebhookSetting, value: Value): string => {
  switch (setting.kind) {
    case "switch":
      return value ? "on" : "off"
    case "whole number":
      return setting.unit === undefined ? formatNumber(Number(value)) : formatSeconds(Number(value))
    case "retries":
    case "window":
    case "singleton":
      return composed(setting)!.inWords(value)
    default:
      return textOf(value)
  }
}

/** Undefined if the server has no such default. */
const serverDefault = (server: Server, name: WebhookSettingName): number | undefined => {
  const setting = webhookSettings[name]
  return "serverDefault" in setting ? server[setting.serverDefault] : undefined
}

/** The default in words: `300 s`, `no limit`. */
const defaultText = (server: Server, name: WebhookSettingName): string => {
  const setting: WebhookSetting = webhookSettings[name]
  const value = serverDefault(server, name)
  return value === undefined ? setting.default : format(setting, value)
}

/** The typed texts. An empty text means the default. */
export type SettingTexts = Readonly<Record<WebhookSettingName, string>>

/** Valid values, and error messages for the others. */
interface Parsed {
  readonly values: Partial<SettingValues>
  readonly faults: Partial<Record<WebhookSettingName, string>>
}

/** The editable text of a value. JSON has several lines. */
const textIn = (setting: WebhookSetting, value: Value | undefined): string =>
  value === undefined ? "" : setting.kind === "json" ? Json.stringify(value, 2) : textOf(value)

export const settingTexts = (webhook: Partial<Webhook> | undefined): SettingTexts =>
  Object.fromEntries(
    webhookSettingNames.map((name) => [name, textIn(webhookSettings[name], webhook?.[name])])
  ) as unknown as SettingTexts

export const parseSettings = (texts: SettingTexts): Parsed => {
  const values: Partial<Record<WebhookSettingName, Value>> = {}
  const faults: Parsed["faults"] = {}
  for (const name of webhookSettingNames) {
    const typed = texts[name].trim()
    if (typed === "") continue
    const setting: WebhookSetting = webhookSettings[name]
    const value = valueOf(setting, typed)
    if (isAccepted(setting, value)) values[name] = value
    else faults[name] = composed(setting)?.accepts ?? sentence(accepts(setting))
  }
  return { values: values as Parsed["values"], faults }
}

/** A payload in which settings without a value are reset to the default. */
export const withDefaults = ({ values }: Parsed) =>
  Object.fromEntries(webhookSettingNames.map((name) => [name, values[name] ?? null])) as {
    readonly [Name in WebhookSettingName]: SettingValues[Name] | null
  }

const longestInShort = 40

/** A summary of the value. */
export const settingInShort = (name: WebhookSettingName, text: string): string => {
  const setting: WebhookSetting = webhookSettings[name]
  if (setting.kind === "json" || setting.kind === "webhook") return setting.label
  const value = valueOf(setting, text.trim())
  const characters = [...(isAccepted(setting, value) ? format(setting, value) : text)]
  const end = characters.length > longestInShort ? "…" : ""
  return `${setting.label}: ${characters.slice(0, longestInShort).join("")}${end}`
}

export const isSet = (texts: SettingTexts, name: WebhookSettingName): boolean => texts[name].trim() !== ""

export const SettingFields = ({
  names,
  texts,
  onChange,
  server,
  faultOf
}: {
  readonly names: ReadonlyArray<WebhookSettingName>
  readonly texts: SettingTexts
  readonly onChange: (change: Partial<SettingTexts>) => void
  readonly server: Server
  readonly faultOf: (name: WebhookSettingName) => string | undefined
}) => (
  <div className="setting-fields">
    {names.map((name) => {
      const setting = webhookSettings[name]
      const parts = composed(setting)
      return (
        <div key={name} className={`setting${isSet(texts, name) ? " is-set" : ""}${parts ? " is-wide" : ""}`}>
          <SettingField
            setting={setting}
            parts={parts}
            text={texts[name]}
            onChange={(text) => onChange({ [name]: text })}
            defaultValue={serverDefault(server, name)}
            defaultText={defaultText(server, name)}
            fault={faultOf(name)}
          />
        </div>
      )
    })}
  </div>
)

const SettingField = ({
  setting,
  parts,
  text,
  onChange,
  defaultValue,
  defaultText,
  fault
}: {
  readonly setting: WebhookSetting
  readonly parts: ReturnType<typeof composed>
  readonly text: string
  readonly onChange: (text: string) => void
  readonly defaultValue: number | undefined
  readonly defaultText: string
  readonly fault: string | undefined
}) => {
  const { label } = setting
  const field = { label, value: text, onChange }
  const help = `${setting.help}.`
  if (setting.kind === "choice" || setting.kind === "switch") {
    const options =
      setting.kind === "choice"
        ? setting.words.map((word) => [word, word] as const)
        : ([
            ["true", "on"],
            ["false", "off"]
          ] as const)
    return <SelectField {...field} options={[["", `${setting.default} (default)`], ...options]} help={help} />
  }
  if (setting.kind === "webhook") return <SharedUrlField {...field} help={help} fault={fault} />
  const typed = { ...field, help: `${help} Default: ${defaultText}.`, fault }
  if (parts) return <ComposedField {...typed} {...parts} />
  const placeholder = String(defaultValue ?? setting.default)
  if (setting.kind === "whole number" && setting.unit) return <DurationField {...typed} placeholder={placeholder} />
  return (
    <TextField
      {...typed}
      {...(setting.kind === "whole number" ? { inputMode: "numeric" } : {})}
      {...(setting.kind === "amount" ? { inputMode: "decimal" } : {})}
      {...(setting.kind === "json" ? { multiline: true, mono: true, rows: 3 } : {})}
      placeholder={placeholder}
    />
  )
}

/** The settings that the webhook has itself, and those that have their defaults. */
export const ownSettings = (webhook: Webhook): ReadonlyArray<WebhookSettingName> =>
  webhookSettingNames.filter((name) => webhook[name] !== undefined)
export const defaultSettings = (webhook: Webhook): ReadonlyArray<WebhookSettingName> =>
  webhookSettingNames.filter((name) => webhook[name] === undefined)

/** The current values of these settings, as entries of a `dl`. */
export const SettingFacts = ({
  names,
  webhook,
  server
}: {
  readonly names: ReadonlyArray<WebhookSettingName>
  readonly webhook: Webhook
  readonly server: Server | undefined
}) =>
  names.map((name) => {
    const own = webhook[name]
    const setting: WebhookSetting = webhookSettings[name]
    return (
      <div key={name}>
        <dt>{setting.label}</dt>
        <dd>
          {own === undefined ? (
            server && defaultText(server, name)
          ) : setting.kind === "webhook" ? (
            <WebhookName id={String(own)} />
          ) : (
            format(setting, own)
          )}
        </dd>
      </div>
    )
  })
