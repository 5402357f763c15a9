import { Option, Predicate, Schema } from "effect"
import { optional, time } from "../Time.ts"

export const UsageLimit = Schema.Struct({
  until: optional(time("When the limit ends. Absent: unknown."))
}).annotate({
  identifier: "UsageLimit",
  description: "The agent has reached a usage limit of its provider, and cannot work until it ends."
})
export type UsageLimit = typeof UsageLimit.Type

const encode = Schema.encodeSync(UsageLimit)
const decode = Schema.decodeUnknownOption(UsageLimit)

/** As the field of an `error` reply. */
export const usageLimitBody = (limit: UsageLimit | undefined) => (limit === undefined ? {} : { limited: encode(limit) })

/** The limit that an `error` reply reports, if any. A time that is none is left out: the limit counts. */
export const readUsageLimit = ({ limited }: { readonly limited?: unknown }): { readonly limited?: UsageLimit } =>
  Predicate.isObject(limited) ? { limited: Option.getOrElse(decode(limited), () => ({})) } : {}
