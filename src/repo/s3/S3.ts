/** Contents of files in a bucket of an S3-compatible store: https://docs.aws.amazon.com/AmazonS3/latest/API/ */
import { createHash, getFips } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import { Effect, Layer, Option, Redacted } from "effect"
import { FileMissing, type Unavailable } from "../../domain/Errors.ts"
import { DeadlinePassed, withDeadline } from "../../runtime/Deadline.ts"
import { type Bucket, FileBucket, unavailable } from "../run/FileBucket.ts"
import { type Credentials, keySource } from "./Credentials.ts"

export type S3Settings = Credentials & {
  /** The bucket's URL in path style, with a prefix for the keys if needed: `https://s3.example.com/bucket/prefix`. */
  readonly url: string
  readonly region: string
}

/** For an operation with all its attempts, and the request for a key, in milliseconds: as long as for one of the database. */
const limit = 10_000
const attempts = 3
/** Milliseconds before the second attempt. The third waits twice as long. */
const pause = 200
/** Milliseconds from one warning to the next. */
const betweenWarnings = 10_000

interface Answer {
  readonly status: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** S3's error code. The rest of its message may quote the request. */
const codeOf = ({ bytes }: Answer): string =>
  /<Code>(\w{1,64})<\/Code>/.exec(Buffer.from(bytes).toString("latin1"))?.[1] ?? ""

/** The service is busy, or has a fault that may pass. */
const isTemporary = ({ status }: Answer): boolean => status >= 500 || status === 429

/** Errors of an expired temporary key: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const keyIsOver = [
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidAccessKeyId",
  "InvalidToken",
  "TokenRefreshRequired"
]

/** The error codes of a 403 that is about the key, and not the object. */
const isOfKey = [...keyIsOver, "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AccountProblem", "NotSignedUp"]

/** A bucket with Object Lock asks for a checksum. MD5 is the one that all stores know, and a FIPS mode forbids. */
const checksumOf = (bytes: Uint8Array): Record<string, string> =>
  getFips() === 1
    ? { "x-amz-checksum-sha256": createHash("sha256").update(bytes).digest("base64") }
    : { "content-md5": createHash("md5").update(bytes).digest("base64") }

/** Without the right to list, S3 answers 403 for an object that does not exist. */
const notReadable = new FileMissing({
  reason:
    "The bucket answered 403: the file is gone, or the server may not read it. Grant s3:GetObject for its objects, and s3:ListBucket for the bucket to tell the two apart."
})

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown"
  if (error instanceof DeadlinePassed) return `no answer within ${limit / 1000} seconds`
  const { code, message } = (error.cause ?? error) as { readonly code?: string; readonly message?: string }
  return code ?? message ?? error.name
}

/** Details name the bucket and S3's code, and neither the key nor the secret. */
export const make = ({ region, url, ...credentials }: S3Settings): Bucket => {
  const keys = keySource(credentials, region)
  /** The cached signing key of the day. */
  let cache = new Map<string, ArrayBuffer>()
  let warnedAt = Number.NEGATIVE_INFINITY

  const send = async (method: string, key: string, body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => {
    // Loaded with the first request.
    const { AwsV4Signer } = await import("aws4fetch")
    const hash = createHash("sha256").update(body).digest("hex")
    const accessKey = await keys.current(signal)
    const { keyId, secret, sessionToken } = accessKey
    const signed = await new AwsV4Signer({
      ...{ method, url: `${url}/${key}`, service: "s3", region, cache },
      ...{ accessKeyId: Redacted.value(keyId), secretAccessKey: Redacted.value(secret) },
      ...(sessionToken && { sessionToken: Redacted.value(sessionToken) }),
      headers: { "x-amz-content-sha256": hash, ...(method === "PUT" && checksumOf(body)) }
    }).sign()
    const sent = method === "PUT" ? { body } : {}
    // A redirect names another bucket, region or host. What is meant for this one goes nowhere else.
    const response = await fetch(signed.url, { method, headers: signed.headers, ...sent, redirect: "manual", signal })
    const answer: Answer = { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
    const isRefused = answer.status >= 400 && keyIsOver.includes(codeOf(answer)) && keys.refused(accessKey)
    if (isRefused) cache = new Map()
    return { ...answer, isTemporary: isRefused || isTemporary(answer) }
  }

  const attempt = async (method: string, key: string, bytes: Uint8Array, signal: AbortSignal): Promise<Answer> => {
    for (let left = attempts - 1; ; left--) {
      try {
        const answer = await send(method, key, bytes as Uint8Array<ArrayBuffer>, signal)
        if (left === 0 || !answer.isTemporary) return answer
      } catch (error) {
        if (left === 0 || signal.aborted) throw error
      }
      await setTimeout(pause * (attempts - left), undefined, { signal })
    }
  }

  const warn = (detail: string) =>
    Effect.suspend(() => {
      const now = performance.now()
      if (now - warnedAt < betweenWarnings) return Effect.void
      warnedAt = now
      return Effect.logWarning(detail)
    })

  const call = (method: "PUT" | "GET" | "DELETE", key: string, bytes: Uint8Array = new Uint8Array()) =>
    Effect.tryPromise({
      // In the process's own time: a test clock makes no store faster.
      try: (interrupted) => withDeadline(limit, (signal) => attempt(method, key, bytes, signal), interrupted),
      catch: (error) => unavailable(`The bucket ${url} is out of reach: ${reasonOf(error)}.`)
    }).pipe(
      Effect.flatMap((answer) => {
        const { bytes, status } = answer
        if (status >= 200 && status < 300) return Effect.succeed(Option.some(bytes))
        const code = codeOf(answer)
        if (status === 404 && code === "NoSuchKey") return Effect.succeedNone
        const detail = `The bucket ${url} answered ${method} with ${[status, code].join(" ").trim()}.`
        const isDenied = method === "GET" && status === 403 && !isOfKey.includes(code)
        return Effect.fail<FileMissing | Unavailable>(isDenied ? notReadable : unavailable(detail))
      }),
      Effect.tapError((error) => warn(error._tag === "FileMissing" ? `${url}: ${error.reason}` : error.detail)),
      Effect.withSpan(`S3.${method}`)
    )
  /** Only reading fails otherwise. */
  const write = (method: "PUT" | "DELETE", key: string, bytes?: Uint8Array): Effect.Effect<void, Unavailable> =>
    Effect.catchTag(Effect.asVoid(call(method, key, bytes)), "FileMissing", ({ reason }) => unavailable(reason))

  return {
    put: (key, bytes) => write("PUT", key, bytes),
    get: (key) => call("GET", key),
    remove: (key) => write("DELETE", key)
  }
}

/** Stores the contents of new files in the bucket. Those that are in the database remain there. */
export const layer = (settings: S3Settings): Layer.Layer<never> =>
  Layer.sync(FileBucket, () => Option.some(make(settings)))
