/** How Amazon SNS signs its messages. https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html */
import { createVerify } from "node:crypto"
import type { Evidence, Lookup } from "./RequestLookup.ts"
import { decode, isSecret } from "./Signing.ts"
import { isCertificateUrl } from "./SnsTopic.ts"

/** The signed text: the names and values of these members, a line each, if the message has them. */
const signedMembers = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
} as const

const hashes = { 1: "RSA-SHA1", 2: "RSA-SHA256" } as const

/** Longer than SNS retries, and as long as a repeated delivery is recognized: an older message can only be a replay. */
const maxAge = 7 * 24 * 60 * 60_000

/** The certificate that a message must be checked with. */
export class NeedsCertificate {
  readonly _tag = "NeedsCertificate"
  readonly url: string
  constructor(url: string) {
    this.url = url
  }
}

/** The fault of the message; `undefined`: none. Without the certificate, as far as possible. */
export const causeOf = (topic: string, lookup: Lookup, now: number, evidence: Evidence | undefined) => {
  const member = (name: string) => lookup.at({ json: [name] })
  const [type, version, signed, url] = ["Type", "SignatureVersion", "Signature", "SigningCertURL"].map(member)
  const [sentTo, time] = [member("TopicArn"), member("Timestamp")]
  if (!type || !version || !signed || !url || !sentTo || !time) return "missing"
  // Everybody can let SNS sign messages of an own topic.
  if (!isSecret(Buffer.from(sentTo), Buffer.from(topic))) return "mismatch"
  const signature = decode(signed, "base64")
  const sent = Date.parse(time)
  const isKnown = Object.hasOwn(signedMembers, type) && Object.hasOwn(hashes, version)
  if (!isKnown || signature === undefined || Number.isNaN(sent) || !isCertificateUrl(topic, url)) return "malformed"
  if (Math.abs(now - sent) > maxAge) return "expired"
  if (evidence === undefined || !("x509" in evidence) || evidence.url !== url) return new NeedsCertificate(url)
  const { publicKey, validFrom, validTo } = evidence.x509
  if (now < Date.parse(validFrom) || now > Date.parse(validTo)) return "expired"
  const content = signedMembers[type as keyof typeof signedMembers].map((name) => {
    const value = member(name)
    return value === undefined ? "" : `${name}\n${value}\n`
  })
  const verifier = createVerify(hashes[version as unknown as keyof typeof hashes]).update(content.join(""))
  return verifier.verify(publicKey, signature) ? undefined : "mismatch"
}
