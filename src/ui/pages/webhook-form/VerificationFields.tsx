/** The verification of callers, and its secret. */
import { type Option, optionTexts } from "../../../domain/verification/Description.ts"
import { optionsOf, presetNames, presets } from "../../../domain/verification/Presets.ts"
import type { Webhook } from "../../api/Types.ts"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Toggle } from "../../components/form/Toggle.tsx"

/** The verification as JSON, or empty. The secret is empty until it is typed. */
export interface VerificationTexts {
  readonly verification: string
  readonly secret: string
  readonly keep_old_secret: string
}

type Fields = NonNullable<Webhook["verification"]>

export const verificationTexts = (webhook: Partial<Webhook> | undefined): VerificationTexts => ({
  verification: webhook?.verification === undefined ? "" : JSON.stringify(webhook.verification),
  secret: "",
  keep_old_secret: ""
})

const parse = ({ verification }: VerificationTexts): Fields | undefined =>
  verification === "" ? undefined : JSON.parse(verification)

/** The payload of a request that saves it. */
export const verificationValues = (texts: VerificationTexts) => ({
  verification: parse(texts) ?? null,
  secret: texts.secret,
  keep_old_secret: texts.keep_old_secret === "true"
})

/** A summary; `undefined` if only the token is required. */
export const verificationInShort = (texts: VerificationTexts): string | undefined => {
  const fields = parse(texts)
  return fields && `Verification: ${presets[fields.preset].label}`
}

/** The JSON Pointers of its fields. */
export const verificationPointers = (texts: VerificationTexts): ReadonlyArray<string> => {
  const fields = parse(texts)
  return fields ? ["/secret", ...optionsOf(fields.preset).map((option) => `/verification/${option}`)] : []
}

const labelOf = (option: Option): string => {
  const words = option.replaceAll("_", " ")
  return `${words[0]!.toUpperCase()}${words.slice(1)}`
}

export const verificationFaults = (texts: VerificationTexts, webhook: Webhook | undefined) => {
  const fields = parse(texts)
  const isSet = webhook?.secret_set_at !== undefined
  return { secret: fields !== undefined && texts.secret === "" && !isSet ? "Enter the secret." : undefined }
}

/** The secret of a webhook whose callers are verified. */
export const SecretField = ({
  texts,
  onChange,
  webhook,
  fault
}: {
  readonly texts: VerificationTexts
  readonly onChange: (change: Partial<VerificationTexts>) => void
  readonly webhook: Webhook | undefined
  readonly fault: string | undefined
}) => {
  const { label, secret } = presets[parse(texts)!.preset]
  return (
    <TextField
      label="Secret"
      type="password"
      autoComplete="new-password"
      value={texts.secret}
      onChange={(secret) => onChange({ secret })}
      placeholder={webhook?.secret_set_at ? `${webhook.secret_hint} is stored` : ""}
      help={`In ${label}: ${secret}. It is stored encrypted and not shown again.`}
      fault={fault}
    />
  )
}

export const VerificationFields = ({
  texts,
  onChange,
  webhook,
  faultAt
}: {
  readonly texts: VerificationTexts
  readonly onChange: (change: Partial<VerificationTexts>) => void
  readonly webhook: Webhook | undefined
  /** The error message at a JSON Pointer. */
  readonly faultAt: (pointer: string) => string | undefined
}) => {
  const fields = parse(texts)
  const setOption = (option: Option, text: string) => {
    const { [option]: _, ...rest } = fields!
    const value = option.endsWith("_seconds") && /^\d+$/.test(text) ? Number(text) : text
    onChange({ verification: JSON.stringify(text === "" ? rest : { ...rest, [option]: value }) })
  }
  return (
    <>
      <SelectField
        label="Verification"
        value={fields?.preset ?? ""}
        onChange={(preset) => onChange({ verification: preset === "" ? "" : JSON.stringify({ preset }) })}
        options={[["", "token only (default)"], ...presetNames.map((name) => [name, presets[name].label] as const)]}
        help="How callers are verified, besides the token: with the calling service's signature or secret."
      />
      {fields && (
        <div className="setting-fields">
          <SecretField texts={texts} onChange={onChange} webhook={webhook} fault={faultAt("/secret")} />
          {webhook?.secret_set_at && texts.secret !== "" && (
            <Toggle
              on={texts.keep_old_secret === "true"}
              onChange={(on) => onChange({ keep_old_secret: on ? "true" : "" })}
            >
              Also accept the old secret until I end it
            </Toggle>
          )}
          {optionsOf(fields.preset).map((option) => (
            <TextField
              key={option}
              label={labelOf(option)}
              value={String(fields[option] ?? "")}
              onChange={(text) => setOption(option, text)}
              help={optionTexts[option]}
              fault={faultAt(`/verification/${option}`)}
            />
          ))}
        </div>
      )}
    </>
  )
}
