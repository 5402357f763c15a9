/** Contents of files in a bucket of an S3-compatible store: https://docs.aws.amazon.com/AmazonS3/latest/API/ */
import { setTimeout } from "node:timers/promises"
import { Effect, Layer, Option, Redacted } from "effect"
import { type Bucket, FileBucket, unavailable } from "../run/FileBucket.ts"

export interface S3Settings {
  /** Of the bucket, in path style, with a prefix for the keys if they need one: `https://s3.example.com/bucket/prefix`. */
  readonly url: string
  readonly keyId: Redacted.Redacted
  readonly secret: Redacted.Redacted
  readonly region: string
}

/** For an operation with all its attempts, in milliseconds: as long as for one of the database. */
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

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown"
  // While it waits for the next attempt, the cause is one.
  if ([error, error.cause].some((it) => it instanceof Error && it.name === "TimeoutError"))
    return `no answer within ${limit / 1000} seconds`
  const { code, message } = (error.cause ?? error) as { readonly code?: string; readonly message?: string }
  return code ?? message ?? error.name
}

/** Details name the bucket and S3's code, and neither the key nor the secret. */
export const make = ({ keyId, region, secret, url }: S3Settings): Bucket => {
  /** Of the day's signing key. */
  const cache = new Map<string, ArrayBuffer>()
  let warnedAt = Number.NEGATIVE_INFINITY

  const send = async (method: string, key: string, body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => {
    // Loaded with the first request.
    const { AwsV4Signer } = await import("aws4fetch")
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", body)).toString("hex")
    const signed = await new AwsV4Signer({
      ...{ method, url: `${url}/${key}`, service: "s3", region, cache },
      ...{ accessKeyId: Redacted.value(keyId), secretAccessKey: Redacted.value(secret) },
      headers: { "x-amz-content-sha256": hash }
    }).sign()
    const sent = method === "PUT" ? { body } : {}
    // A redirect names another bucket, region or host. What is meant for this one goes nowhere else.
    const response = await fetch(signed.url, { method, headers: signed.headers, ...sent, redirect: "manual", signal })
    return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
  }

  const attempt = async (method: string, key: string, bytes: Uint8Array, signal: AbortSignal): Promise<Answer> => {
    for (let left = attempts - 1; ; left--) {
      try {
        const answer = await send(method, key, bytes as Uint8Array<ArrayBuffer>, signal)
        if (left === 0 || !isTemporary(answer)) return answer
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
      try: (interrupted) => attempt(method, key, bytes, AbortSignal.any([interrupted, AbortSignal.timeout(limit)])),
      catch: (error) => unavailable(`The bucket ${url} is out of reach: ${reasonOf(error)}.`)
    }).pipe(
      Effect.flatMap((answer) => {
        const { bytes, status } = answer
        if (status >= 200 && status < 300) return Effect.succeed(Option.some(bytes))
        const code = codeOf(answer)
        if (status === 404 && code === "NoSuchKey") return Effect.succeedNone
        return unavailable(`The bucket ${url} answered ${method} with ${[status, code].join(" ").trim()}.`)
      }),
      Effect.tapError(({ detail }) => warn(detail)),
      Effect.withSpan(`S3.${method}`)
    )

  return {
    put: (key, bytes) => Effect.asVoid(call("PUT", key, bytes)),
    get: (key) => call("GET", key),
    remove: (key) => Effect.asVoid(call("DELETE", key))
  }
}

/** Stores the contents of new files in the bucket. Those that are in the database remain there. */
export const layer = (settings: S3Settings): Layer.Layer<never> =>
  Layer.sync(FileBucket, () => Option.some(make(settings)))
