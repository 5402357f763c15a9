/** A signature on everything that destinations write, so that it is recognized when a service reports it. */
import { createHmac } from "node:crypto"
import { Effect } from "effect"
import type { DeliveryId } from "../../domain/Id.ts"
import { ReplyKeyStore } from "../../repo/access/ReplyKeyStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"

export type Sign = (text: string) => string

/** Made of the servers' common key. Others can copy a signature, but sign nothing else with it. */
export const make: Effect.Effect<Sign, never, ReplyKeyStore> = Effect.gen(function* () {
  const { key } = yield* untilAvailable((yield* ReplyKeyStore).replyKey)
  return (text) => createHmac("sha256", key).update(`written\n${text}`).digest("hex").slice(0, 32)
})

/** Letters and digits alone: services may change line ends, spaces and escapes. */
const essenceOf = (text: string): string => text.normalize("NFC").replace(/[^\p{L}\p{N}]/gu, "")

/** The hidden beginning of a comment: what is needed to find it, and the signature of the text below it. */
export const headOf = (marker: string, text: string, sign: Sign): string => `${marker} ${sign(essenceOf(text))} -->\n`

const comment = /^\s*<!-- webhook-trigger [\w -]{1,1000} ([\da-f]{32}) -->([\s\S]*)$/

/** Whether it is a comment that a destination wrote, unchanged. */
export const isOwnComment = (text: unknown, sign: Sign): boolean => {
  if (typeof text !== "string" || !/^\s*<!-- webhook-trigger /.test(text)) return false
  const [, signature, rest = ""] = comment.exec(text) ?? []
  return signature !== undefined && signature === sign(essenceOf(rest))
}

/** The ID of a Slack message's first block, of at most 255 characters. Only apps can set it. */
export const blockIdOf = (id: DeliveryId | string, sign: Sign): string => `webhook-trigger ${id} ${sign(id)}`

export const isOwnBlockId = (id: unknown, sign: Sign): boolean => {
  const [, delivery, signature] =
    typeof id === "string" ? (/^webhook-trigger (\S{1,100}) (\S{32})$/.exec(id) ?? []) : []
  return delivery !== undefined && signature === sign(delivery)
}
