/** A webhook's optional settings, from the table in `domain/WebhookSettings.ts`. */
import {
  accepts,
  type Unit,
  type WebhookSetting,
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../domain/WebhookSettings.ts"
import type { Server, Webhook } from "../api/Types.ts"
import { formatDuration, formatNumber, sentence } from "./Format.ts"
import { TextField } from "./TextField.tsx"

const formatWithUnit: Record<Unit, (value: number) => string> = {
  seconds: (value) => formatDuration(value * 1000)
}

const format = ({ unit }: WebhookSetting, value: number): string =>
  unit === undefined ? formatNumber(value) : formatWithUnit[unit](value)

const serverDefault = (server: Server, name: WebhookSettingName): number => server[webhookSettings[name].serverDefault]

/** What is typed into the fields; an empty text means the server's default. */
type SettingTexts = Readonly<Record<WebhookSettingName, string>>

/** The settings' values to store, or what is wrong with the texts. */
interface SettingValues {
  readonly values: Partial<Record<WebhookSettingName, number>>
  readonly faults: Partial<Record<WebhookSettingName, string>>
}

export const settingTexts = (webhook: Webhook | undefined): SettingTexts =>
  Object.fromEntries(
    webhookSettingNames.map((name) => [name, webhook?.[name]?.toString() ?? ""])
  ) as unknown as SettingTexts

export const parseSettings = (texts: SettingTexts): SettingValues => {
  const values: SettingValues["values"] = {}
  const faults: SettingValues["faults"] = {}
  for (const name of webhookSettingNames) {
    if (texts[name].trim() === "") continue
    const setting: WebhookSetting = webhookSettings[name]
    const value = Number(texts[name])
    if (Number.isInteger(value) && value >= setting.min && value <= setting.max) values[name] = value
    else faults[name] = sentence(accepts(setting))
  }
  return { values, faults }
}

/** The payload that gives a setting without a value back to the server's default. */
export const withDefaults = ({ values }: SettingValues): Record<WebhookSettingName, number | null> =>
  Object.fromEntries(webhookSettingNames.map((name) => [name, values[name] ?? null])) as Record<
    WebhookSettingName,
    number | null
  >

export const SettingFields = ({
  texts,
  onChange,
  server,
  faultOf
}: {
  readonly texts: SettingTexts
  readonly onChange: (texts: SettingTexts) => void
  readonly server: Server
  readonly faultOf: (name: WebhookSettingName) => string | undefined
}) => (
  <div className="setting-fields">
    {webhookSettingNames.map((name) => {
      const setting: WebhookSetting = webhookSettings[name]
      const inherited = serverDefault(server, name)
      return (
        <TextField
          key={name}
          label={setting.unit === undefined ? setting.label : `${setting.label} in ${setting.unit}`}
          value={texts[name]}
          onChange={(text) => onChange({ ...texts, [name]: text })}
          inputMode="numeric"
          placeholder={String(inherited)}
          help={`${setting.help}. Leave empty for the default, ${format(setting, inherited)}.`}
          fault={faultOf(name)}
        />
      )
    })}
  </div>
)

/** The settings in effect, as entries of a `dl`. */
export const SettingFacts = ({ webhook, server }: { readonly webhook: Webhook; readonly server: Server | undefined }) =>
  webhookSettingNames.map((name) => {
    const setting: WebhookSetting = webhookSettings[name]
    const own = webhook[name]
    return (
      <div key={name}>
        <dt>{setting.label}</dt>
        <dd>
          {own !== undefined
            ? format(setting, own)
            : server && `${format(setting, serverDefault(server, name))} (default)`}
        </dd>
      </div>
    )
  })
