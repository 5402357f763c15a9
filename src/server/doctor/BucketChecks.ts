import { randomUUID } from "node:crypto"
import { Effect, Exit, Option } from "effect"
import type { FileMissing, Unavailable } from "../../domain/Errors.ts"
import * as S3 from "../../repo/s3/S3.ts"
import { check, type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = ["bucket written", "bucket read", "bucket cleaned"]

const mayList = "A missing file looks like a forbidden one. To tell the two apart, allow s3:ListBucket for the bucket."

const rights = "Allow s3:PutObject, s3:GetObject and s3:DeleteObject in the bucket (docs/run/deploy.md)."

/** Advice by S3's error code: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const helps: Readonly<Record<string, string>> = {
  AccessDenied: rights,
  ExpiredToken: "Replace WEBHOOK_FILES_S3_KEY_ID, WEBHOOK_FILES_S3_SECRET and WEBHOOK_FILES_S3_SESSION_TOKEN.",
  AuthorizationHeaderMalformed: "Set WEBHOOK_FILES_S3_REGION to the bucket's region.",
  InvalidAccessKeyId: "Correct WEBHOOK_FILES_S3_KEY_ID.",
  NoSuchBucket: "Create the bucket that WEBHOOK_FILES_S3 names.",
  PermanentRedirect: "Set WEBHOOK_FILES_S3 and WEBHOOK_FILES_S3_REGION to the bucket's region.",
  RequestTimeTooSkewed: "Set the clock of this machine or of the store (NTP).",
  SignatureDoesNotMatch: "Correct WEBHOOK_FILES_S3_SECRET."
}

const credentialsHelp =
  "Check the role and the service account of this server: AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_CONTAINER_CREDENTIALS_FULL_URI."

const helpFor = (detail: string): string =>
  / credentials: |the token in /.test(detail)
    ? credentialsHelp
    : (helps[/with \d+ (\w+)/.exec(detail)?.[1] ?? ""] ??
      "Check the host, the port and the scheme in WEBHOOK_FILES_S3.")

/** Whether a server can use the bucket. Writes an object, reads it and removes it. */
export const examineBucket = (settings: S3.S3Settings): Effect.Effect<Examined> => {
  const bucket = S3.make(settings)
  const key = `doctor-${randomUUID()}`
  const bytes = Buffer.from("webhook-trigger doctor")
  const failed = (step: number) => (call: Effect.Effect<unknown, FileMissing | Pick<Unavailable, "detail">>) =>
    Effect.mapError(call, (error) => {
      const isDenied = "reason" in error
      const detail = isDenied ? "403 AccessDenied" : error.detail
      return failedAt(names, step, oneLine(detail), isDenied ? rights : helpFor(detail), [settings.url])
    })
  const read = Effect.filterOrFail(
    bucket.get(key),
    Option.exists((found) => Buffer.compare(found, bytes) === 0),
    () => ({ detail: "it returns something else than was written" })
  )
  return bucket.put(key, bytes).pipe(
    failed(0),
    // Removed also if it cannot be read.
    Effect.andThen(Effect.zip(Effect.exit(failed(1)(read)), Effect.exit(failed(2)(bucket.remove(key))))),
    Effect.flatMap(([read, removed]) => Effect.andThen(read, removed)),
    // Nothing has this key now.
    Effect.andThen(Effect.exit(bucket.get(key))),
    Effect.map((again): Examined => {
      const { checks } = passed(names, [settings.url])
      return { checks: Exit.isSuccess(again) ? checks : [...checks, check("bucket listed", "warning", mayList)] }
    }),
    Effect.catch(Effect.succeed)
  )
}
