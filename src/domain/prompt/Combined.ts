/** What a template can say about the requests that a run combines (`coalesce`). Browser-safe. */
import type { Variables } from "../run/Run.ts"
import type { WebhookRow } from "../webhook/Webhook.ts"
import { pathOf } from "./Path.ts"

/** The name of the value, which no request can give. */
const name = "combined"

/** How many requests of a run are kept for its prompt, the latest ones, and their bytes of JSON. The last one always is. */
export const maxRequests = 100
export const maxRequestBytes = 1_048_576

/** What the prompt of a combined run is made from when its window closes. */
export type CombinedTemplate = Pick<WebhookRow, "coalesce" | "fence" | "prompt_template" | "template_language">

export interface Combined {
  /** Of all requests. */
  readonly count: number
  /** The kept ones, the first one first. Only with `collect: all`. */
  readonly requests?: ReadonlyArray<Variables>
  /** How many are not among `requests`. */
  readonly dropped?: number
}

const collectsAll = ({ coalesce }: Pick<CombinedTemplate, "coalesce">): boolean => coalesce?.collect === "all"

/** Whether the template may read it, in any language: it occurs in the text. */
export const isRead = ({
  coalesce,
  prompt_template
}: Pick<CombinedTemplate, "coalesce" | "prompt_template">): boolean =>
  coalesce !== undefined && prompt_template.includes(name)

/** `count`: of all requests of the run; default: these are all. */
export const of = (
  webhook: Pick<CombinedTemplate, "coalesce">,
  requests: ReadonlyArray<Variables>,
  count = requests.length
): { readonly [name]: Combined } => ({
  [name]: { count, ...(collectsAll(webhook) && { requests, dropped: count - requests.length }) }
})

/** The request to keep for the prompt; `undefined`: none. */
export const keptOf = (
  webhook: Pick<CombinedTemplate, "coalesce" | "prompt_template">,
  input: Variables
): Variables | undefined => (isRead(webhook) && collectsAll(webhook) ? ownOf(webhook, input) : undefined)

/** The input of one request: what is combined is no part of it. */
export const ownOf = (webhook: Pick<CombinedTemplate, "coalesce" | "prompt_template">, input: Variables): Variables => {
  if (!isRead(webhook)) return input
  const { [name]: _, ...own } = input
  return own
}

/** The names that requests have to give. */
export const namesOfRequest = (
  { coalesce }: Pick<CombinedTemplate, "coalesce">,
  names: ReadonlyArray<string>
): ReadonlyArray<string> => (coalesce === undefined ? names : names.filter((path) => pathOf(path)[0] !== name))

/** Why a name in the prompt's template never has a value. */
export const nameFaults = (
  webhook: Pick<CombinedTemplate, "coalesce">,
  names: ReadonlyArray<string>
): ReadonlyArray<string> =>
  webhook.coalesce === undefined
    ? []
    : names.flatMap((path) => {
        const [root, member] = pathOf(path)
        if (root !== name || member === undefined || member === "count") return []
        if (member !== "requests" && member !== "dropped")
          return [`\`${path}\`: there is \`count\`, \`requests\` and \`dropped\``]
        return collectsAll(webhook) ? [] : [`\`${path}\` needs \`"collect": "all"\` in \`coalesce\``]
      })
