/** The callers of one `callback` destination, told apart by their URLs, so that one whose URLs hang does not delay the others. */
import { createHash } from "node:crypto"
import type { Destination } from "../../domain/delivery/Destination.ts"

/** All callers of a destination share so many buckets. It bounds what a claim reads. */
export const callerBuckets = 16

/**
 * From 1: the bucket of a `callback_url`, by its text from the allowed prefix to the next `/` or `?`. Callers that share a bucket by
 * chance share its limit. 0: all deliveries of a destination of another kind.
 */
export const bucketOf = ({ kind, url }: Pick<Destination, "kind" | "url">, callback_url = ""): number => {
  if (kind !== "callback") return 0
  const [caller = ""] = callback_url.slice(url.length).split(/[/?&]/)
  return 1 + (createHash("sha256").update(caller).digest()[0]! % callerBuckets)
}
