/** The known services, and the effect of a webhook's own options on them. */
import { alertmanager } from "./alertmanager.ts"
import type { Algorithm, Description, Encoding, Option, Preset } from "./Description.ts"
import * as generic from "./generic.ts"
import { github } from "./github.ts"
import { gitlab } from "./gitlab.ts"
import { grafana } from "./grafana.ts"
import { jira } from "./jira.ts"
import { linear } from "./linear.ts"
import { pagerduty } from "./pagerduty.ts"
import { sentry } from "./sentry.ts"
import { slack } from "./slack.ts"
import { standardWebhooks } from "./standardWebhooks.ts"
import { stripe } from "./stripe.ts"

export const presets = {
  github,
  gitlab,
  slack,
  "standard-webhooks": standardWebhooks,
  stripe,
  sentry,
  linear,
  pagerduty,
  jira,
  grafana,
  alertmanager,
  hmac: generic.hmac,
  bearer: generic.bearer,
  basic: generic.basic,
  header: generic.header
} as const satisfies { readonly [name: string]: Preset }

export type PresetName = keyof typeof presets

export const presetNames = Object.keys(presets) as unknown as readonly [PresetName, ...ReadonlyArray<PresetName>]

/** A webhook's verification: its preset and options. */
export interface Options {
  readonly preset: PresetName
  readonly header?: string
  readonly algorithm?: Algorithm
  readonly encoding?: Encoding
  readonly prefix?: string
  readonly signed?: string
  readonly timestamp_header?: string
  readonly tolerance_seconds?: number
  readonly id_header?: string
  readonly unique_for_seconds?: number
  readonly username?: string
  readonly reply_text?: string
}

/** A preset's options, required ones first. */
export const optionsOf = (preset: PresetName): ReadonlyArray<Option> => {
  const { required = [], options = [] }: Preset = presets[preset]
  return [...required, ...options]
}

const isFor = ({ for: condition }: Description, options: Options, secret: string): boolean =>
  condition === undefined ||
  ((condition.secret === undefined || secret.startsWith(condition.secret)) &&
    (condition.option === undefined || options[condition.option] !== undefined))

/** In seconds, as most services advise. */
const defaultTolerance = 300

const inLowerCase = (header: string): string => header.toLowerCase()

/** The description for this secret, with the webhook's options applied. */
export const describe = (options: Options, secret: string): Description => {
  const { descriptions }: Preset = presets[options.preset]
  const description = descriptions.find((each) => isFor(each, options, secret)) ?? descriptions.at(-1)!
  const { header, id_header, prefix, timestamp_header, tolerance_seconds, unique_for_seconds } = options
  const common = {
    ...(id_header !== undefined && { id: [{ header: inLowerCase(id_header) }] }),
    ...(header !== undefined && { headers: [inLowerCase(header)] }),
    ...(prefix !== undefined && { prefix })
  }
  if (!("signed" in description)) return { ...description, ...common }
  const known = description.timestamp
  const at = timestamp_header === undefined ? known?.at : [{ header: inLowerCase(timestamp_header) }]
  const byDefault = (timestamp_header === undefined ? undefined : description.signedWithTimestamp) ?? description.signed
  return {
    ...description,
    ...common,
    ...(description.scheme === "hmac" && { algorithm: options.algorithm ?? description.algorithm }),
    encoding: options.encoding ?? description.encoding,
    signed: options.signed ?? byDefault,
    ...(unique_for_seconds !== undefined && { unique_for_seconds }),
    ...(at !== undefined && {
      timestamp: {
        at,
        unit: known?.unit ?? "seconds",
        tolerance_seconds: tolerance_seconds ?? known?.tolerance_seconds ?? defaultTolerance
      }
    })
  }
}

/** The headers with a secret or signature, for these options. */
export const secretHeadersOf = ({ header, preset }: Options): ReadonlyArray<string> => {
  const { descriptions }: Preset = presets[preset]
  const known = descriptions.flatMap((each) => (each.scheme === "basic" ? ["authorization"] : each.headers))
  return header === undefined ? known : [...known, inLowerCase(header)]
}

/** The headers in which a preset's callers authenticate themselves. */
export const headersOf = (preset: PresetName): ReadonlyArray<string> => {
  const { descriptions }: Preset = presets[preset]
  return [
    ...new Set(
      descriptions.flatMap((description) => {
        if (description.scheme === "basic") return ["authorization"]
        const times = "timestamp" in description ? (description.timestamp?.at ?? []) : []
        const ids = "signed" in description && description.signed.includes("{id}") ? (description.id ?? []) : []
        return [...description.headers, ...[...times, ...ids].flatMap((at) => ("header" in at ? [at.header] : []))]
      })
    )
  ]
}
