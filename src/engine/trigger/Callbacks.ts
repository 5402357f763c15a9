/** The URLs that callers name for the end of one run: each below one that a destination of the kind `callback` allows. */
import { Effect, Result } from "effect"
import { InvalidParameter, type Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { containsToken } from "../../domain/request/WithoutToken.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"

const maxUrl = 2_000

const refused = (detail: string) => new InvalidParameter({ name: "callback_url", detail })

/** Escapes of a slash or a dot, which some servers decode even twice, and dot segments before a `;` that some drop. */
const leadsOut = /%(25)*(2f|5c|2e)|\/\.\.?(;|%(25)*3b)/i

/**
 * As `URL` writes it: without dots that lead out of a path, and with the host in one form. So a URL begins with an allowed
 * one only if it is below it. Failure: why it is no such URL.
 */
export const normalized = (text: string): Result.Result<string, string> => {
  const url = text.length <= maxUrl && URL.canParse(text) ? new URL(text) : undefined
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:"
  const isPlain = url?.username === "" && url.password === "" && !url.href.includes("#") && url.href.length <= maxUrl
  if (url === undefined || !isHttp || !isPlain) {
    return Result.fail(
      "must be a URL of at most 2,000 characters (http or https), without user name, password or fragment"
    )
  }
  return leadsOut.test(url.pathname)
    ? Result.fail("must have no encoded slash, backslash or dot, and no `..;` in its path")
    : Result.succeed(url.href)
}

/** The fault of a URL that allows those below it. With a query, its path is a whole one. */
export const faultOfAllowed = (url: string): string | undefined =>
  Result.match(normalized(url), {
    onFailure: (fault) => fault,
    onSuccess: (form) => {
      if (form !== url) return `must be written as ${form}`
      return url.endsWith("/") || url.includes("?") ? undefined : "must end with a slash"
    }
  })

export const make = Effect.map(DestinationStore, (store) => ({
  /** @param url normalized */
  check: (webhook: WebhookId, url: string): Effect.Effect<void, InvalidParameter | Unavailable> =>
    Effect.flatMap(store.destinations(webhook), (destinations) => {
      if (containsToken(url)) return refused("must not contain a token, such as in a trigger URL")
      const callbacks = destinations.filter(({ enabled, kind }) => enabled && kind === "callback")
      if (callbacks.some((one) => url.startsWith(one.url))) return Effect.void
      return callbacks.length === 0
        ? refused("is refused: the webhook allows no callbacks, as it has no destination of the kind `callback`")
        : refused("is refused: the webhook allows no callbacks to this URL")
    })
}))
