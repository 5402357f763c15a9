/** The callers of one `callback` destination, told apart by their URLs, so that one whose URLs hang does not delay the others. */
import { createHash } from "node:crypto"
import type { Destination } from "../../domain/delivery/Destination.ts"

/** So many places have all callers of a destination. It bounds what a claim reads, and what one destination takes of a server. */
export const callerPlaces = 16

/**
 * From 1: the place of a `callback_url`, by its text from the allowed prefix to the next `/` or `?`. Callers that share a place by
 * chance share its limit. 0: all deliveries of a destination of another kind.
 */
export const placeOf = ({ kind, url }: Pick<Destination, "kind" | "url">, callback_url = ""): number => {
  if (kind !== "callback") return 0
  const [caller = ""] = callback_url.slice(url.length).split(/[/?&]/)
  return 1 + (createHash("sha256").update(caller).digest()[0]! % callerPlaces)
}
