/** The input of a request, by the webhook's `input`: its variables, or the request itself. */
import { Predicate, Result } from "effect"
import { Invalid, InvalidBody, InvalidVariables, type UnsupportedMediaType } from "../../domain/Errors.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import { pathOf, pick } from "../../domain/prompt/Path.ts"
import { checkVariables, isShallow, tooDeep } from "../../domain/prompt/Variables.ts"
import type { IncomingRequest, RequestValues } from "../../domain/request/IncomingRequest.ts"
import * as Request from "../../domain/request/IncomingRequest.ts"
import { bodyKindOf } from "../../domain/request/Payload.ts"
import { isSecretHeader } from "../../domain/request/SecretHeaders.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { secretHeadersOf } from "../../domain/verification/Presets.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"

type Webhook = Pick<WebhookRow, "input" | "variables"> & Pick<WebhookRow, "coalesce" | "prompt_template">

/** Whether the template uses the whole request. */
export const takesPayload = ({ input }: { readonly input?: unknown }): boolean => input === "payload"

/** The headers in which the webhook's callers authenticate themselves, whatever their names. */
export const secretHeaders = ({ verification }: Pick<WebhookRow, "verification">): ReadonlyArray<string> =>
  verification === undefined ? [] : secretHeadersOf(verification)

/** Why a name in the webhook's template can never have a value. */
export const nameFaults = (name: string, webhook: Pick<WebhookRow, "verification">): ReadonlyArray<string> => {
  const [root, header] = pathOf(name)
  if (root !== "headers" || header === undefined) return []
  if (header !== header.toLowerCase()) return [`\`${name}\`: the names of headers are in lower case`]
  return isSecretHeader(header, secretHeaders(webhook)) ? [`\`${name}\` may hold a secret, which no template gets`] : []
}

/** Why the webhook does not accept such a body at all, known before it is read. */
export const mediaTypeFault = (
  webhook: Pick<WebhookRow, "input">,
  headers: IncomingRequest["headers"]
): UnsupportedMediaType | undefined => {
  // The body of a form may be JSON: that is known when it was read.
  const isForm = !takesPayload(webhook) && bodyKindOf(headers) === "form"
  const kinds = takesPayload(webhook)
    ? (["json", "form", "multipart", "text"] as const)
    : (["json", "multipart"] as const)
  return Request.mediaTypeFault(headers, isForm ? ["form"] : kinds, { mayBeGzipped: true })
}

const variablesIn = (request: IncomingRequest): Result.Result<Variables, InvalidBody | UnsupportedMediaType> => {
  if (Request.isMultipart(request)) return Request.fieldsOf(request)
  return Result.flatMap(Request.objectOf(request), (object) => {
    const variables = Object.hasOwn(object, "variables") ? object.variables : undefined
    return Predicate.isReadonlyObject(variables)
      ? Result.succeed(variables as Variables)
      : Result.fail(new InvalidBody({ detail: "`variables` must be an object." }))
  })
}

/** The values for the template, not checked yet. */
export const read = (
  webhook: Pick<WebhookRow, "input" | "verification">,
  request: IncomingRequest
): Result.Result<Variables, InvalidBody | UnsupportedMediaType> => {
  const fault = mediaTypeFault(webhook, request.headers)
  if (fault !== undefined) return Result.fail(fault)
  return takesPayload(webhook) ? Request.valuesOf(request, secretHeaders(webhook)) : variablesIn(request)
}

const invalid = (faults: InvalidVariables["faults"]) => Result.fail(new InvalidVariables({ faults }))

/** Whether a payload is shallow enough for plain recursion. */
const checkDepth = (input: Variables): Result.Result<Variables, InvalidVariables> =>
  isShallow(input.payload) ? Result.succeed(input) : invalid([{ pointer: "/payload", detail: tooDeep }])

const checked = (variables: Variables, root?: string): Result.Result<Variables, InvalidVariables> => {
  const faults = checkVariables(variables, root)
  return faults.length > 0 ? invalid(faults) : Result.succeed(variables)
}

/**
 * The values that make the prompt and are stored with the run: all variables; of a whole request, only the values that
 * the template names. So a run's size is bounded, and the rest need not be storable.
 */
const usedOf = (webhook: Webhook, input: Variables): Result.Result<Variables, InvalidVariables> =>
  takesPayload(webhook)
    ? Result.flatMap(checkDepth(input), (input) => checked(pick(webhook.variables.map(pathOf), input), ""))
    : checked(input)

/**
 * The same, with what the template can say about the requests that the run combines. `combined`: of the run that is repeated;
 * default: this request alone.
 */
export const used = (
  webhook: Webhook,
  input: Variables,
  { combined }: { readonly combined?: unknown } = {}
): Result.Result<Variables, InvalidVariables> => {
  if (!Combined.isRead(webhook)) return usedOf(webhook, input)
  const own = Combined.ownOf(webhook, input)
  return Result.flatMap(usedOf(webhook, own), (variables) => {
    if (combined !== undefined) return Result.map(checked({ combined }), (again) => ({ ...variables, ...again }))
    // A payload is also stored as a whole.
    const kept = Combined.keptOf(webhook, own) ? checked(own, "") : Result.succeed(own)
    return Result.map(kept, () => ({ ...variables, ...Combined.of(webhook, [own]) }))
  })
}

/**
 * The values that make a repeat the same request: all variables; of a whole request, everything except its headers,
 * which differ each time.
 */
export const contentOf = (
  webhook: Pick<WebhookRow, "input">,
  input: Variables
): Result.Result<Variables, InvalidVariables> => {
  if (!takesPayload(webhook)) return checked(input)
  const { headers, ...content } = input
  return checkDepth(content)
}

/** An input written by hand, for a preview or a test. */
export interface Sample {
  readonly variables?: Variables
  readonly payload?: unknown
  readonly headers?: RequestValues["headers"]
  readonly query?: RequestValues["query"]
}

const required = (pointer: string) => new Invalid({ faults: [{ pointer, detail: "is required" }] })

/** The values for the template, not checked yet. The names of headers may be in any case, as in a request. */
export const ofSample = (webhook: Pick<WebhookRow, "input">, sample: Sample): Result.Result<Variables, Invalid> => {
  const { variables, payload, query = {} } = sample
  if (!takesPayload(webhook))
    return variables === undefined ? Result.fail(required("/variables")) : Result.succeed(variables)
  const headers = Object.fromEntries(
    Object.entries(sample.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  )
  return payload === undefined ? Result.fail(required("/payload")) : Result.succeed({ payload, headers, query })
}
