/** The URLs that callers name for the end of one run: each below one that a destination of the kind `callback` allows. */
import { Effect } from "effect"
import { InvalidParameter, type Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"

const maxUrl = 2_000

const refused = (detail: string) => new InvalidParameter({ name: "callback_url", detail })

/**
 * As `URL` writes it: without dots that lead out of a path, and with the host in one form. So a URL begins with an allowed
 * one only if it is below it. `undefined`: it is no such URL.
 */
export const normalized = (text: string): string | undefined => {
  if (text.length > maxUrl || !URL.canParse(text)) return undefined
  const { href, password, protocol, username } = new URL(text)
  const isPlain = username === "" && password === "" && !href.includes("#") && href.length <= maxUrl
  return isPlain && (protocol === "https:" || protocol === "http:") ? href : undefined
}

export const make = Effect.map(DestinationStore, (store) => ({
  /** @param url normalized */
  check: (webhook: WebhookId, url: string): Effect.Effect<void, InvalidParameter | Unavailable> =>
    Effect.flatMap(store.destinations(webhook), (destinations) => {
      const callbacks = destinations.filter(({ enabled, kind }) => enabled && kind === "callback")
      if (callbacks.some((one) => url.startsWith(one.url))) return Effect.void
      return callbacks.length === 0
        ? refused("The webhook allows no callbacks. Add a destination of the kind `callback` to it.")
        : refused("The webhook allows no callbacks to this URL.")
    })
}))
