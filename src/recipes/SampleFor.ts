/** A request that a webhook accepts: its service's sample, or one made up from its template and its filter. */
import { Option } from "effect"
import * as Jmespath from "../domain/evaluation/Jmespath.ts"
import { filter } from "../domain/prompt/Filter.ts"
import { pathsIn } from "../domain/prompt/FilterPaths.ts"
import { wantedValues } from "../domain/prompt/FilterSample.ts"
import { lookUp, type Path, pathOf, pick } from "../domain/prompt/Path.ts"
import { type SampleRequest, sampleRequest, withLists } from "../domain/request/SampleRequest.ts"
import { describe, type Options } from "../domain/verification/Presets.ts"
import type { Sample } from "./Recipe.ts"
import { type RecipeName, recipeNames, recipes } from "./Recipes.ts"

interface SampledWebhook {
  /** The names in its template. */
  readonly variables: ReadonlyArray<string>
  readonly input?: string
  readonly accept_if?: string
  readonly verification?: Options
}

type Input = {
  readonly payload: unknown
  readonly headers: SampleRequest["headers"]
  readonly query: SampleRequest["query"]
}

const accepts = ({ accept_if }: SampledWebhook, input: Input): boolean => {
  const result = accept_if === undefined ? { accepted: true } : filter(accept_if, input)
  return "accepted" in result && result.accepted
}

/** Whether the template finds anything in it. */
const isRead = ({ variables }: SampledWebhook, input: Input): boolean =>
  variables.length === 0 || variables.some((name) => Option.isSome(lookUp(pathOf(name), input)))

const inputOf = ({ headers, payload }: Sample): Input => ({ payload, headers, query: {} })

/** The input that a service of this preset sends, if the webhook takes that. */
const serviceInput = (webhook: SampledWebhook): Input | undefined => {
  const preset = webhook.verification?.preset
  if (preset === undefined || webhook.input !== "payload") return undefined
  return recipeNames
    .map((name: RecipeName) => recipes[name])
    .filter(({ verification }) => verification.preset === preset)
    .map(({ sample }) => inputOf(sample))
    .find((input) => accepts(webhook, input) && isRead(webhook, input))
}

const madeUp = ({ accept_if, input, variables }: SampledWebhook): SampleRequest =>
  sampleRequest(input, variables, accept_if === undefined ? [] : wantedValues(accept_if))

const requestOf = ({ headers, payload: body, query }: Input): SampleRequest => ({ body, headers, query })

/** All that the service sends, for a test. */
export const sampleFor = (webhook: SampledWebhook): SampleRequest => {
  const input = serviceInput(webhook)
  return input === undefined ? madeUp(webhook) : requestOf(input)
}

/** The paths of what the webhook reads of a request: for its prompt, its filter and the delivery's id. */
const pathsOf = ({ accept_if, variables, verification }: SampledWebhook): ReadonlyArray<Path> => {
  const ids = verification === undefined ? [] : (describe(verification, "").id ?? [])
  return [
    ...variables.map(pathOf),
    ...(accept_if === undefined ? [] : (pathsIn(Jmespath.compile(accept_if)) as ReadonlyArray<Path>)),
    ...ids.flatMap((source): ReadonlyArray<Path> => {
      if ("json" in source && source.form === undefined) return [["payload", ...source.json]]
      return "form" in source && !("json" in source) ? [["payload", source.form]] : []
    }),
    ["headers", "content-type"]
  ]
}

/** Only what the webhook reads of it, for an example to read. */
export const exampleFor = (webhook: SampledWebhook): SampleRequest => {
  const input = serviceInput(webhook)
  if (input === undefined) return madeUp(webhook)
  const picked = pick(pathsOf(webhook), input) as Partial<Input>
  const short = { payload: withLists(picked.payload ?? {}), headers: picked.headers ?? {}, query: {} }
  return requestOf(accepts(webhook, short) ? short : { ...short, payload: input.payload })
}
