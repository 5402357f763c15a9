/** The value through which a template reads the requests that a run combines (`coalesce`). Browser-safe. */
import type { Variables } from "../run/Run.ts"
import type { WebhookRow } from "../webhook/Webhook.ts"
import { pathOf } from "./Path.ts"

/** The name of the value, which no request can give. */
const name = "combined"

/** How many requests of a run are kept for its prompt, the latest ones, and their bytes of JSON. The last one always is. */
export const maxRequests = 100
export const maxRequestBytes = 1_048_576

/** The settings that the prompt of a combined run is made from when its window closes. */
export type CombinedTemplate = Pick<WebhookRow, "coalesce" | "fence" | "prompt_template" | "template_language">

type Window = Pick<WebhookRow, "coalesce">
type Webhook = Pick<WebhookRow, "coalesce" | "prompt_template">

interface Combined {
  /** The number of all requests. */
  readonly count: number
  /** The kept ones, the first one first. Only with `collect: all`. */
  readonly requests?: ReadonlyArray<Variables>
  /** How many are not among `requests`. */
  readonly dropped?: number
}

/** `count`: of all requests of the run; default: these are all. */
export const of = (
  { coalesce }: Window,
  requests: ReadonlyArray<Variables>,
  count = requests.length
): { readonly [name]: Combined } => ({
  [name]: { count, ...(coalesce?.collect === "all" && { requests, dropped: count - requests.length }) }
})

/** Whether the template may read it, in any language: it occurs in the text. */
export const isRead = ({ coalesce, prompt_template }: Webhook): boolean =>
  coalesce !== undefined && prompt_template.includes(name)

/** The input of one request: what is combined is no part of it. */
export const ownOf = (webhook: Webhook, input: Variables): Variables => {
  if (!isRead(webhook)) return input
  const { [name]: _, ...own } = input
  return own
}

/** The request to keep for the prompt; `undefined`: none. */
export const keptOf = (webhook: Webhook, input: Variables): Variables | undefined =>
  isRead(webhook) && webhook.coalesce?.collect === "all" ? ownOf(webhook, input) : undefined

/** The names that requests have to give. */
export const namesOfRequest = ({ coalesce }: Window, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  coalesce === undefined ? names : names.filter((path) => pathOf(path)[0] !== name)

/** Why names in the prompt's template never have a value. */
export const nameFaults = (window: Window, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((path) => {
    const [root, member = "count"] = pathOf(path)
    const isKnown = root !== name || window.coalesce === undefined || Object.hasOwn(of(window, [])[name], member)
    return isKnown
      ? []
      : [
          `\`${path}\`: there is \`${name}.count\` and, with \`"collect": "all"\` in \`coalesce\`, \`requests\` and \`dropped\``
        ]
  })
