/** Stands for Amazon SNS: signs messages with a certificate of its own, and hands it out at its address. */
import { execFileSync } from "node:child_process"
import { createSign } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { NoAnswer, type Poster } from "../../src/engine/egress/Poster.ts"

export interface KeyPair {
  readonly key: string
  readonly certificate: string
}

/** The certificate is valid for two days. */
export const keyPair = (): KeyPair => {
  const folder = mkdtempSync(join(tmpdir(), "webhook-trigger-sns-"))
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")]
  const files = ["-keyout", key, "-out", certificate]
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...files, "-days", "2", "-subj", "/CN=sns.amazonaws.com"],
    { stdio: "ignore" }
  )
  const made = { key: readFileSync(key, "utf8"), certificate: readFileSync(certificate, "utf8") }
  rmSync(folder, { recursive: true })
  return made
}

let known: KeyPair | undefined

/** One for all tests of a process. */
export const ownKeys = (): KeyPair => {
  known ??= keyPair()
  return known
}

export const certificateUrl = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"

/** The names in the order in which SNS documents them. */
const signedNames = (type: unknown): ReadonlyArray<string> =>
  type === "Notification"
    ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]

type Message = { readonly [name: string]: unknown }

/** The message as SNS sends it now, if nothing of it says otherwise. */
export const signedBySns = (message: Message, version: "1" | "2" = "1", { key } = ownKeys()): Message => {
  const whole: Message = {
    Type: "Notification",
    MessageId: "m-1",
    Message: "hello",
    ...message,
    Timestamp: new Date().toISOString(),
    SignatureVersion: version,
    SigningCertURL: certificateUrl
  }
  const text = signedNames(whole.Type)
    .filter((name) => whole[name] !== undefined)
    .map((name) => `${name}\n${whole[name]}\n`)
    .join("")
  const Signature = createSign(version === "1" ? "RSA-SHA1" : "RSA-SHA256")
    .update(text)
    .sign(key, "base64")
  return { ...whole, Signature }
}

/** Answers as SNS does. */
export const asSns: Poster["Service"]["post"] = ({ url }) =>
  url === certificateUrl
    ? Effect.succeed({ http_status: 200, answer: "", text: ownKeys().certificate })
    : Effect.fail(new NoAnswer({ reason: "nobody is there" }))
