/** One request to a destination: no redirects, a pinned address, and bounds on time and on what is read of the answer. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { Context, Data, Duration, Effect, Layer, Option } from "effect"
import { storedAnswer } from "../../domain/delivery/Delivery.ts"
import { parsePlain } from "../../domain/Json.ts"
import { storable } from "../../domain/StorableText.ts"
import { AddressPolicy } from "./AddressPolicy.ts"

/** From the look-up of the host until the answer's end. */
const timeLimit = Duration.seconds(15)
/** Bytes of an answer that are read so that the connection can be used again. */
const readAnswer = 64 * 1024

export interface Post {
  /** Default: POST. */
  readonly method?: "GET" | "PATCH" | "PUT"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** How many bytes of the answer are needed, for `text`. */
  readonly read?: number
}

export interface Answer {
  readonly http_status: number
  /** The beginning of its body. */
  readonly answer: string
  /** The part of its body that was read, if that was asked for. */
  readonly text?: string
  readonly retryAfter?: Duration.Duration
}

export const asJson = { "content-type": "application/json" } as const

export const isSuccess = ({ http_status }: Answer): boolean => http_status >= 200 && http_status < 300

/** The answer's JSON, of a request with `read`; `undefined`: it is none. */
export const jsonOf = ({ text = "" }: Answer): unknown => parsePlain(text)

/**
 * There was no answer: `reason` says why, for people. `isOfTarget`: there never will be, for this target. `isOfLogin`: the
 * service does not accept the server's own login. `isBusy`: this server had no place for the request.
 */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{
  readonly reason: string
  readonly isOfTarget?: true
  readonly isOfLogin?: true
  readonly isBusy?: true
}> {}

export class Poster extends Context.Service<
  Poster,
  { readonly post: (post: Post) => Effect.Effect<Answer, NoAnswer> }
>()("webhook-trigger/Poster") {
  static readonly layer: Layer.Layer<Poster> = Layer.effect(
    Poster,
    Effect.gen(function* () {
      const policy = yield* AddressPolicy
      // Without a limit for each host: destinations that share one must not wait for each other.
      const options = { keepAlive: true, timeout: Duration.toMillis(timeLimit) }
      const agents = { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) }
      yield* Effect.addFinalizer(() => Effect.sync(() => Object.values(agents).forEach((agent) => agent.destroy())))

      return Poster.of({
        post: Effect.fn("Poster.post")(function* ({ body, headers, method = "POST", read, url: text }) {
          const url = URL.canParse(text) ? new URL(text) : undefined
          const fault = url === undefined ? "is not a URL" : policy.faultOf(url)
          if (url === undefined || fault !== undefined) return yield* new NoAnswer({ reason: `the URL ${fault}` })
          const isHttps = url.protocol === "https:"
          /** Except for GET, the status decides, whatever comes after it. Only the answer to a GET must be whole. */
          let begun: (() => Answer) | undefined
          const answered = Effect.callback<Answer, NoAnswer>((resume, signal) => {
            const failed = (error: Error) =>
              resume(begun === undefined ? new NoAnswer({ reason: reasonOf(error) }) : Effect.succeed(begun()))
            const begin = (): void => {
              const sent = (isHttps ? httpsRequest : httpRequest)(
                url,
                {
                  method,
                  agent: agents[isHttps ? "https:" : "http:"],
                  headers: {
                    "user-agent": "webhook-trigger",
                    ...headers,
                    ...(body !== undefined && { "content-length": Buffer.byteLength(body) })
                  },
                  lookup: policy.lookup,
                  signal
                },
                (response) => {
                  const answer = readBeginning(response, read, (answer) => resume(Effect.succeed(answer)), failed)
                  if (method !== "GET") begun = answer
                }
              )
              // The receiver has closed a connection that was idle: no failure of its own.
              sent.on("error", (error) => (sent.reusedSocket && isReset(error) ? begin() : failed(error)))
              sent.end(body)
            }
            begin()
          })
          const inTime = yield* Effect.timeoutOption(answered, timeLimit)
          if (Option.isSome(inTime)) return inTime.value
          return begun?.() ?? (yield* new NoAnswer({ reason: `no answer within ${Duration.format(timeLimit)}` }))
        })
      })
    })
  )
}

/** Returns what gives the answer as far as it was read. */
const readBeginning = (
  response: IncomingMessage,
  read: number | undefined,
  done: (answer: Answer) => void,
  failed: (error: Error) => void
): (() => Answer) => {
  const chunks: Array<Buffer> = []
  const limit = read ?? readAnswer
  let size = 0
  const answer = (): Answer => {
    const body = Buffer.concat(chunks)
    const retryAfter = pauseOf(response)
    return {
      http_status: response.statusCode ?? 0,
      answer: storable(body.subarray(0, storedAnswer).toString()),
      ...(read !== undefined && { text: body.toString() }),
      ...(retryAfter && { retryAfter })
    }
  }
  response.on("data", (chunk: Buffer) => {
    if (size < (read ?? storedAnswer)) chunks.push(chunk)
    size += chunk.length
    if (size <= limit) return
    // Who answers with more is not listened to, and gets a new connection next time.
    response.destroy()
    done(answer())
  })
  response.once("end", () => done(answer()))
  response.on("error", failed)
  return answer
}

/** How long the service asks to wait. GitHub has `X-RateLimit-Reset` in place of `Retry-After`, also with 403. */
const pauseOf = ({ headers, statusCode }: IncomingMessage): Duration.Duration | undefined => {
  const after = retryAfterOf(headers["retry-after"])
  const isLimit = statusCode === 403 || statusCode === 429
  const remaining = headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"]
  if (after !== undefined || !isLimit || (remaining === undefined ? statusCode !== 429 : Number(remaining) > 0))
    return after
  const reset = Number(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"])
  // Seconds since 1970, or from now on.
  const millis = reset > 1e9 ? reset * 1000 - Date.now() : reset * 1000
  return millis > 0 ? Duration.millis(millis) : undefined
}

/** Seconds, or a date (RFC 9110, 10.2.3). Discord has fractions of seconds. */
const retryAfterOf = (header: string | undefined): Duration.Duration | undefined => {
  if (header === undefined) return undefined
  const millis = /^\d{1,9}(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(millis) && millis > 0 ? Duration.millis(millis) : undefined
}

const isReset = (error: Error & { readonly code?: string }): boolean => error.code === "ECONNRESET"

const reasonOf = (error: Error & { readonly code?: string; readonly hostname?: string }): string => {
  const { code, hostname, message } = error
  if (hostname !== undefined && (code === "ENOTFOUND" || code === "ENODATA"))
    return `the host ${hostname} was not found`
  return message === "" ? (code ?? "the connection failed") : message
}
