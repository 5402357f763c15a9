import { randomUUID } from "node:crypto"
import { Effect, Option } from "effect"
import * as S3 from "../../repo/s3/S3.ts"
import { type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = ["bucket written", "bucket read", "bucket cleaned"]

const rights = "Allow s3:PutObject, s3:GetObject and s3:DeleteObject in the bucket (docs/run/deploy.md)."

/** What to do, by S3's error code: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const helps: Readonly<Record<string, string>> = {
  AccessDenied: rights,
  AuthorizationHeaderMalformed: "Set WEBHOOK_FILES_S3_REGION to the bucket's region.",
  InvalidAccessKeyId: "Correct WEBHOOK_FILES_S3_KEY_ID.",
  NoSuchBucket: "Create the bucket that WEBHOOK_FILES_S3 names.",
  PermanentRedirect: "Set WEBHOOK_FILES_S3 and WEBHOOK_FILES_S3_REGION to the bucket's region.",
  RequestTimeTooSkewed: "Set the clock of this machine or of the store (NTP).",
  SignatureDoesNotMatch: "Correct WEBHOOK_FILES_S3_SECRET."
}

const helpFor = (detail: string): string =>
  helps[/with \d+ (\w+)/.exec(detail)?.[1] ?? ""] ?? "Check the host, the port and the scheme in WEBHOOK_FILES_S3."

/** Whether a server can use the bucket. Writes an object, reads it and removes it. */
export const examineBucket = (settings: S3.S3Settings): Effect.Effect<Examined> => {
  const bucket = S3.make(settings)
  const key = `doctor-${randomUUID()}`
  const bytes = Buffer.from("webhook-trigger doctor")
  const failed = (step: number) => (call: Effect.Effect<unknown, { readonly detail: string }>) =>
    Effect.mapError(call, ({ detail }) => failedAt(names, step, oneLine(detail), helpFor(detail), [settings.url]))
  const read = Effect.filterOrFail(
    bucket.get(key),
    Option.exists((found) => Buffer.compare(found, bytes) === 0),
    () => ({ detail: "it returns something else than was written" })
  )
  return bucket.put(key, bytes).pipe(
    failed(0),
    // Removed also if it cannot be read.
    Effect.zipRight(Effect.zip(Effect.exit(failed(1)(read)), Effect.exit(failed(2)(bucket.remove(key))))),
    Effect.flatMap(([read, removed]) => Effect.zipRight(read, removed)),
    Effect.as(passed(names, [settings.url])),
    Effect.merge
  )
}
