/** The known services, and the effect of a webhook's own options on them. */

import type { Algorithm, Description, Encoding, Option, Preset, Source, TimeUnit } from "./Description.ts"
import * as generic from "./generic.ts"
import { discord, lark, meta, microsoftGraph, slack, teams, twilio, zoom } from "./services/communication.ts"
import { calendly, hubspot, zendesk } from "./services/customers.ts"
import { github, gitlab, jira, linear, trello } from "./services/development.ts"
import { mux, twitch } from "./services/media.ts"
import { asana, dropbox, notion } from "./services/office.ts"
import { alertmanager, awsSns, eventGrid, google, grafana, okta, pagerduty, sentry } from "./services/operations.ts"
import { paddle, square, stripe } from "./services/payments.ts"
import { standardWebhooks } from "./standardWebhooks.ts"

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
  "aws-sns": awsSns,
  calendly,
  discord,
  "event-grid": eventGrid,
  hubspot,
  meta,
  "microsoft-graph": microsoftGraph,
  mux,
  paddle,
  square,
  teams,
  trello,
  twilio,
  twitch,
  zendesk,
  zoom,
  asana,
  dropbox,
  google,
  lark,
  notion,
  okta,
  hmac: generic.hmac,
  "public-key": generic.publicKey,
  jwt: generic.jwt,
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
  readonly key_encoding?: "text" | "base64"
  readonly separator?: string
  readonly signed?: string
  readonly timestamp_header?: string
  readonly timestamp_prefix?: string
  readonly timestamp_unit?: TimeUnit
  readonly tolerance_seconds?: number
  readonly id_header?: string
  readonly unique_for_seconds?: number
  readonly username?: string
  readonly issuer?: string
  readonly audience?: string
  readonly jwks_url?: string
  readonly verify_token?: string
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

/** Where the webhook says that the time of sending is. */
const timeOf = ({ timestamp_header, timestamp_prefix }: Options): ReadonlyArray<Source> | undefined => {
  if (timestamp_header !== undefined) return [{ header: inLowerCase(timestamp_header) }]
  return timestamp_prefix === undefined ? undefined : [{ signature: timestamp_prefix }]
}

/** The description for this secret, with the webhook's options applied. */
export const describe = (options: Options, secret: string): Description => {
  const { descriptions }: Preset = presets[options.preset]
  const description = descriptions.find((each) => isFor(each, options, secret)) ?? descriptions.at(-1)!
  const { header, id_header, prefix, separator, timestamp_unit, tolerance_seconds, unique_for_seconds } = options
  const { audience, issuer, jwks_url } = options
  const common = {
    ...(audience !== undefined && { audience }),
    ...(issuer !== undefined && { issuers: [issuer] }),
    ...(jwks_url !== undefined && { jwks: jwks_url }),
    ...(id_header !== undefined && { id: [{ header: inLowerCase(id_header) }] }),
    ...(header !== undefined && { headers: [inLowerCase(header)] }),
    ...(prefix !== undefined && { prefix })
  }
  if (!("signed" in description)) return { ...description, ...common }
  const known = description.timestamp
  const own = timeOf(options)
  const at = own ?? known?.at
  const byDefault = (own && description.signedWithTimestamp) ?? description.signed
  return {
    ...description,
    ...common,
    ...("algorithm" in description && {
      algorithm: options.algorithm ?? description.algorithm
    }),
    ...(options.key_encoding === "base64" && { key: { base64After: "" } }),
    ...(separator !== undefined && { separator }),
    encoding: options.encoding ?? description.encoding,
    signed: options.signed ?? byDefault,
    ...(unique_for_seconds !== undefined && { unique_for_seconds }),
    ...(at !== undefined && {
      timestamp: {
        at,
        unit: timestamp_unit ?? known?.unit ?? "seconds",
        tolerance_seconds: tolerance_seconds ?? known?.tolerance_seconds ?? defaultTolerance
      }
    })
  }
}

/** The headers of a description with a secret or signature. */
const headersWithProof = (description: Description): ReadonlyArray<string> => {
  switch (description.scheme) {
    case "basic":
    case "jwt":
      return ["authorization"]
    case "body":
    case "sns":
      return []
    case "hmac":
    case "ed25519":
    case "public key":
    case "header":
      return description.headers
  }
}

/** The members of the body's JSON that are secrets, for these options. */
export const secretMembersOf = ({ preset }: Options): ReadonlyArray<string> => {
  const { descriptions }: Preset = presets[preset]
  return descriptions.flatMap((each) => {
    if (each.scheme === "sns") return each.secretMembers
    return each.scheme === "body" ? [each.at.at(-1)!] : []
  })
}

/** The headers with a secret or signature, for these options. */
export const secretHeadersOf = ({ header, preset }: Options): ReadonlyArray<string> => {
  const { descriptions }: Preset = presets[preset]
  const known = descriptions.flatMap(headersWithProof)
  return header === undefined ? known : [...known, inLowerCase(header)]
}

/** Whether a preset's callers authenticate themselves in the body. */
export const isInBody = (preset: PresetName): boolean =>
  presets[preset].descriptions.some(({ scheme }) => scheme === "body" || scheme === "sns")

/** The headers in which a preset's callers authenticate themselves. */
export const headersOf = (preset: PresetName): ReadonlyArray<string> => {
  const { descriptions }: Preset = presets[preset]
  return [
    ...new Set(
      descriptions.flatMap((description) => {
        const times = "timestamp" in description ? (description.timestamp?.at ?? []) : []
        const ids = "signed" in description && description.signed.includes("{id}") ? (description.id ?? []) : []
        return [
          ...headersWithProof(description),
          ...[...times, ...ids].flatMap((at) => ("header" in at ? [at.header] : []))
        ]
      })
    )
  ]
}
