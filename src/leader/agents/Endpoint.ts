/** Requests to an endpoint that answers with server-sent events. */
import { Clock, Data, DateTime, Effect, Random } from "effect"
import { Sse } from "effect/encoding"
import { type Dispatcher, fetch, getGlobalDispatcher } from "undici"
import { LeaderError } from "../Leader.ts"
import type { Task } from "./Agent.ts"
import { maxLine } from "./output/Lines.ts"
import { messageOf, retrying, textAt } from "./output/Reading.ts"
import { limitedBy, limitUntil } from "./output/UsageLimits.ts"

/** The endpoint refused the request, or cannot be reached. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly message: string
  /** Absent if it cannot be reached. */
  readonly status?: number
  /** Its `Retry-After`, in seconds from the failure. */
  readonly retryAfter?: number
  /** The connection could not be opened, or ended too early. */
  readonly isBroken?: boolean
  /** The beginning of its answer. */
  readonly body?: string
}> {}

/** Payment is required, or there were too many requests. */
const limitStatuses: ReadonlyArray<number | undefined> = [402, 429]

/** The failure of the run, with the usage limit that the endpoint reports, if any. */
export const failed = ({ body = "", message, retryAfter, status }: RequestFailed): LeaderError => {
  const { limited = limitStatuses.includes(status) ? {} : undefined } = status === undefined ? {} : limitedBy(body)
  const end = retryAfter === undefined ? {} : limitUntil(Date.now() + retryAfter * 1_000)
  return new LeaderError({ message, ...(limited && { limited: { ...limited, ...end } }) })
}

interface EndpointRequest {
  /** Default: POST. */
  readonly method?: "GET"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The longest refusal or JSON that is read, in bytes. */
const maxBody = 64 * 1024

/** A server-sent event. */
interface StreamEvent {
  readonly type: string
  readonly data: unknown
}

/** The end of a chat's stream, in the place of an event's data. */
export const streamEnd = "[DONE]"

/** Sends the request and reads the events until the stream ends. Interruption aborts it. */
export const readStream = (
  request: EndpointRequest,
  take: (event: StreamEvent) => void
): Effect.Effect<void, RequestFailed> =>
  attempt(async (signal) => {
    const parser = Sse.makeParser(
      (event) => {
        const data = event._tag === "Event" ? parse(event.data) : undefined
        if (event._tag === "Event" && data !== undefined) take({ type: event.event, data })
      },
      { maxEventSize: maxLine }
    )
    const decoder = new TextDecoder()
    const lines = wholeLines()
    for await (const chunk of await send(request, signal)) {
      const error = parser.feed(lines(decoder.decode(chunk, { stream: true })))
      if (error !== undefined) throw error
    }
  })

/**
 * Returns a text up to its last line break, after what was left before. The parser would read a long line anew with each chunk:
 * a graph's state of 15 MB took seconds.
 */
export const wholeLines = () => {
  let left: Array<string> = []
  let length = 0
  return (text: string): string => {
    // At the end, a carriage return may be half of a line break.
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r", text.length - 2)) + 1
    if (end === 0) {
      left.push(text)
      length += text.length
      if (length > maxLine) throw new RequestFailed({ message: "The endpoint sent a line that is too long" })
      return ""
    }
    const lines = left.join("") + text.slice(0, end)
    left = [text.slice(end)]
    length = text.length - end
    return lines
  }
}

/** Sends the request; the JSON that it is answered with, of up to so many bytes. */
export const readJson = (request: EndpointRequest, most = maxBody): Effect.Effect<unknown, RequestFailed> =>
  attempt(async (signal) => JSON.parse(await beginningOf(await send(request, signal), most)))

/** How often a request is repeated. */
const mostRetries = 4
const firstDelay = 1_000
/** A server that asks for more patience has reached a limit: somebody else decides when to go on. */
const longestRetryAfter = 60

/** The request did nothing, so the same one may succeed later. */
export const isBusy = ({ status }: RequestFailed): boolean => status === 429 || status === 503 || status === 529

/** The same, or what it did is lost without harm. */
export const isPassing = ({ isBroken = false, status = 0 }: RequestFailed): boolean =>
  isBroken || [408, 409, 425, 429].includes(status) || (status >= 500 && status !== 501 && status !== 505)

/** These limits do not end soon, although their status is that of a busy server. */
const isUsedUp = ({ body = "" }: RequestFailed): boolean =>
  /insufficient_quota|usage_limit|billing_hard_limit|credit balance/i.test(body)

/**
 * The request, repeated a few times while its failure may pass: after the server's `Retry-After`, or after a delay that doubles. It is
 * not repeated if the prompt's deadline comes first.
 */
export const patiently = <A>(
  { progress, prompt }: Pick<Task, "progress" | "prompt">,
  mayRepeat: (failure: RequestFailed) => boolean,
  request: Effect.Effect<A, RequestFailed>
): Effect.Effect<A, RequestFailed> => {
  const deadline = prompt.deadline === undefined ? Number.POSITIVE_INFINITY : DateTime.toEpochMillis(prompt.deadline)
  const attempt = (retry: number): Effect.Effect<A, RequestFailed> =>
    Effect.catch(request, (failure) =>
      Effect.gen(function* () {
        if (retry > mostRetries || isUsedUp(failure) || !mayRepeat(failure)) return yield* failure
        const { retryAfter } = failure
        const now = yield* Clock.currentTimeMillis
        // Leaders whose requests failed at the same time do not all come back at once.
        const usual = firstDelay * 2 ** (retry - 1) * (yield* Random.nextBetween(0.75, 1.25))
        const delay = retryAfter === undefined ? usual : retryAfter * 1_000 + usual / 4
        if ((retryAfter ?? 0) > longestRetryAfter || now + delay >= deadline) return yield* failure
        const reason = failure.status ?? "no answer"
        const step = { at: new Date(now).toISOString(), ...retrying(reason, retry, mostRetries, failure.message) }
        progress({ activity: step.title!, steps: [step] })
        return yield* Effect.andThen(Effect.sleep(delay), attempt(retry + 1))
      })
    )
  return attempt(1)
}

const attempt = <A>(work: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: work,
    catch: (error) => (error instanceof RequestFailed ? error : unreachable(error))
  })

/**
 * A model may think for longer than the 300 seconds that Node waits for headers, or for the next byte: the run's own deadline ends
 * a request. Everything else, such as a proxy, is that of Node's own `fetch`.
 */
const patient: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler)

/** The body of the answer. */
const send = async ({ body, headers, method, url }: EndpointRequest, signal: AbortSignal) => {
  const response = await fetch(url, {
    ...(method ? { method } : { method: "POST", body: JSON.stringify(body) }),
    headers: { "content-type": "application/json", ...headers },
    redirect: "error",
    signal,
    dispatcher: getGlobalDispatcher().compose(patient)
  })
  const chunks: AsyncIterable<Uint8Array> = response.body ?? (async function* () {})()
  if (!response.ok) {
    const text = await beginningOf(chunks)
    const retryAfter = secondsOf(response.headers)
    throw new RequestFailed({
      message: `HTTP ${response.status}: ${messageOf(text) || response.statusText}`,
      status: response.status,
      ...(retryAfter !== undefined && { retryAfter }),
      body: text
    })
  }
  return chunks
}

/** Seconds, or a date by the server's own clock: RFC 9110, 10.2.3. OpenAI also says it in milliseconds. */
const secondsOf = (headers: { readonly get: (name: string) => string | null }): number | undefined => {
  const [millis, given] = [headers.get("retry-after-ms"), headers.get("retry-after")]
  const now = Date.parse(headers.get("date") ?? "") || Date.now()
  const seconds = millis ? Number(millis) / 1_000 : given ? Number(given) : Number.NaN
  const known = Number.isNaN(seconds) ? (Date.parse(given ?? "") - now) / 1_000 : seconds
  return Number.isNaN(known) ? undefined : Math.max(known, 0)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text.trim() === streamEnd ? streamEnd : undefined
  }
}

const beginningOf = async (chunks: AsyncIterable<Uint8Array>, most = maxBody): Promise<string> => {
  const parts: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of chunks) {
    parts.push(chunk)
    length += chunk.byteLength
    if (length > most) break
  }
  return Buffer.concat(parts).toString()
}

/** How connections fail that could be opened, or could have gone on, another time. */
const broken =
  /^(ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|EAI_AGAIN|E(HOST|NET)UNREACH|UND_ERR_(SOCKET|CONNECT_TIMEOUT))$/

const unreachable = (error: unknown): RequestFailed => {
  const { cause, message } = error instanceof Error ? error : { cause: undefined, message: String(error) }
  const reason = cause instanceof Error && cause.message !== "" ? cause.message : message
  const isBroken = broken.test(textAt(cause, "code") ?? textAt(error, "code") ?? "")
  return new RequestFailed({ message: `The endpoint did not answer: ${reason}`, isBroken })
}
