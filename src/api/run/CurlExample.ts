/** A `curl` example for a webhook, with its kind of body and its verification. */
import { Predicate } from "effect"
import type { SampleRequest } from "../../domain/request/SampleRequest.ts"
import type { Description, Hmac, Source, TimeUnit } from "../../domain/verification/Description.ts"
import { describe, type Options } from "../../domain/verification/Presets.ts"

/** The fields of a webhook that matter to callers. */
export interface CalledWebhook {
  readonly verification?: Options
  /** If set, callers cannot wait. */
  readonly coalesce?: unknown
}

/** The environment variable with the webhook's secret. */
export const secretVariable = "WEBHOOK_SECRET"

/** The same JSON without single quotes. */
export const quotable = (json: string): string => json.replaceAll("'", "\\u0027")

const single = (text: string): string => (text === "" ? "" : `'${text.replaceAll("'", "'\\''")}'`)

/** A shell word. Each `{name}` in the text becomes the value of a shell variable. */
const word = (text: string): string =>
  text
    .split(/(\{(?:timestamp|id|url|body|signature|secret)\})/)
    .map((part, index) => (index % 2 === 0 ? single(part) : `"$${variables[part as keyof typeof variables]}"`))
    .join("")

const variables = {
  "{timestamp}": "timestamp",
  "{id}": "id",
  "{url}": "url",
  "{body}": "body",
  "{signature}": "signature",
  "{secret}": secretVariable
} as const

const inCapitals = (header: string): string => header.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())

const headerOption = (name: string, value: string): string => `-H ${word(`${inCapitals(name)}: ${value}`)}`

/** How the call is verified: lines before it, and its options. */
interface Proof {
  readonly lines: ReadonlyArray<string>
  readonly options: ReadonlyArray<string>
  /** The path of the time in the body. */
  readonly timeInBody?: ReadonlyArray<string>
  /** The path of the secret in the body, in which `*` is each item of a list. */
  readonly secretInBody?: ReadonlyArray<string>
}

const headerIn = (sources: ReadonlyArray<Source>): string | undefined =>
  sources.flatMap((source) => ("header" in source ? [source.header] : []))[0]

/** A form's fields. */
type Fields = { readonly [name: string]: string }

/** Any value as a form: what is no text is JSON. */
const fieldsOf = (body: unknown): Fields =>
  Predicate.isReadonlyObject(body)
    ? Object.fromEntries(
        Object.entries(body).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])
      )
    : {}

const keyOption = ({ key }: Hmac): string =>
  key === "text"
    ? `-hmac "$${secretVariable}"`
    : `-mac HMAC -macopt "hexkey:$(printf %s "\${${secretVariable}#${key.base64After}}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')"`

const now = {
  seconds: "$(date +%s)",
  milliseconds: "$(date +%s)000",
  iso: "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
} as const satisfies { readonly [unit in TimeUnit]: string }

/** As the sender signs a form: its names and values, sorted by name. */
const sorted = (fields: Fields): string =>
  Object.keys(fields)
    .sort()
    .map((name) => name + fields[name])
    .join("")

const signedBy = (description: Hmac, url: string, fields: Fields): Proof => {
  const { algorithm, encoding, headers, id, prefix = "", signed, timestamp } = description
  const [at] = timestamp?.at ?? []
  const digest = `printf %s ${word(signed.replaceAll("{method}", "POST").replace("{form}", () => sorted(fields)))} | openssl dgst -${algorithm} ${keyOption(description)}`
  const written = encoding === "hex" ? `${digest} | sed 's/.* //'` : `${digest} -binary | openssl base64 -A`
  const idHeader = signed.includes("{id}") ? headerIn(id ?? []) : undefined
  const time = at && "signature" in at ? `${at.signature}{timestamp}${description.separator}` : ""
  return {
    lines: [
      ...(timestamp === undefined ? [] : [`timestamp=${now[timestamp.unit]}`]),
      ...(idHeader === undefined ? [] : ["id=$(openssl rand -hex 16)"]),
      ...(signed.includes("{url}") ? [`url=${url}`] : []),
      `signature=$(${written})`
    ],
    options: [
      headerOption(headers[0]!, `${time}${prefix}{signature}`),
      ...(at && "header" in at ? [headerOption(at.header, "{timestamp}")] : []),
      ...(idHeader === undefined ? [] : [headerOption(idHeader, "{id}")])
    ],
    ...(at && "json" in at && { timeInBody: at.json })
  }
}

/** Absent if only the service can sign, because only it has the private key. */
const proofOf = (
  description: Description,
  { username }: Options,
  { fields, url }: { readonly url: string; readonly fields: Fields }
): Proof | undefined => {
  switch (description.scheme) {
    case "hmac":
      return signedBy(description, url, fields)
    case "header":
      return { lines: [], options: [headerOption(description.headers[0]!, `${description.prefix ?? ""}{secret}`)] }
    case "basic":
      return { lines: [], options: [`-u ${word(`${username}:{secret}`)}`] }
    case "body":
      return { lines: [], options: [], secretInBody: description.at }
    case "ed25519":
    case "public key":
    case "jwt":
    case "sns":
      return undefined
  }
}

const timeMark = "{timestamp}"

const withTime = (body: unknown, [name, ...rest]: ReadonlyArray<string>): unknown => {
  if (name === undefined) return timeMark
  const object = Predicate.isReadonlyObject(body) ? body : {}
  return { ...object, [name]: withTime(object[name], rest) }
}

const secretMark = "{secret}"

const withSecret = (body: unknown, [name, ...rest]: ReadonlyArray<string>): unknown => {
  if (name === undefined) return secretMark
  if (name === "*") return (Array.isArray(body) ? body : [{}]).map((each) => withSecret(each, rest))
  const object = Predicate.isReadonlyObject(body) ? body : {}
  return { ...object, [name]: withSecret(object[name], rest) }
}

export interface CurlOptions {
  /** The trigger URL as a shell word. The parameters are empty or begin with `?`. */
  readonly target: (search: string) => string
  readonly waits: boolean
  readonly sample: SampleRequest
  /** Spreads the call over several lines. */
  readonly pretty: boolean
  readonly flags?: ReadonlyArray<string>
  readonly headers?: ReadonlyArray<string>
}

/** Whether the example needs `openssl`. */
export const isSigned = ({ verification }: CalledWebhook): boolean =>
  verification !== undefined && describe(verification, "").scheme === "hmac"

/** A script for `sh`. The secret, if any, is in `$WEBHOOK_SECRET`. */
export const curlExample = (webhook: CalledWebhook, options: CurlOptions): string => {
  const { flags = [], headers = [], pretty, sample, target, waits } = options
  const { verification } = webhook
  const { "content-type": sampleType = "application/json", ...sampleHeaders } = sample.headers
  const parameters = new URLSearchParams(sample.query)
  if (waits && webhook.coalesce === undefined) parameters.append("wait", "true")
  const url = target(parameters.size === 0 ? "" : `?${parameters}`)
  const description = verification && describe(verification, "")
  const signsForm = description !== undefined && "signed" in description && description.signed.includes("{form}")
  const fields = fieldsOf(sample.body)
  const proof = description && proofOf(description, verification, { url, fields })
  const timed = proof?.timeInBody ? withTime(sample.body, proof.timeInBody) : sample.body
  const body = proof?.secretInBody ? withSecret(timed, proof.secretInBody) : timed
  const type = signsForm ? "application/x-www-form-urlencoded" : sampleType
  const text = type.includes("form")
    ? new URLSearchParams(fields).toString()
    : JSON.stringify(body, null, pretty ? 2 : undefined)
  // The time is a number, known only when the script runs.
  const withMark = `'${quotable(text).replaceAll(`"${timeMark}"`, `'"$timestamp"'`)}'`
  const quoted = proof?.secretInBody ? withMark.replaceAll(secretMark, `'"$${secretVariable}"'`) : withMark
  const isBodySigned = (proof?.lines.length ?? 0) > 0
  const call = [
    ["curl", ...flags, url].join(" "),
    ...headers,
    `-H 'Content-Type: ${type}'`,
    ...Object.entries(sampleHeaders).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(proof?.options ?? []),
    isBodySigned ? '--data-binary "$body"' : `-d ${quoted}`
  ].join(" \\\n  ")
  if (!isBodySigned || proof === undefined) return call
  const [first, ...rest] = proof.lines
  // The body may contain the time.
  const lines = proof.timeInBody ? [first!, `body=${quoted}`, ...rest] : [`body=${quoted}`, first!, ...rest]
  return [...lines, call].join("\n")
}
