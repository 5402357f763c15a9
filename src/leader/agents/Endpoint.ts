/** Requests to an endpoint that answers with server-sent events. */
import * as Sse from "@effect/experimental/Sse"
import { Data, Effect } from "effect"
import { maxLine } from "./output/Lines.ts"
import { messageOf } from "./output/Reading.ts"

/** The endpoint refused the request, or cannot be reached. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly message: string
  /** Absent if it cannot be reached. */
  readonly status?: number
  /** The beginning of its answer. */
  readonly body?: string
}> {}

export interface EndpointRequest {
  /** Default: POST. */
  readonly method?: "GET"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The longest refusal or JSON that is read, in bytes. */
const maxBody = 64 * 1024

/** A server-sent event. */
export interface StreamEvent {
  readonly type: string
  readonly data: unknown
}

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
    for await (const chunk of await send(request, signal)) {
      const error = parser.feed(decoder.decode(chunk, { stream: true }))
      if (error !== undefined) throw error
    }
  })

/** Sends the request; the JSON that it is answered with, of up to so many bytes. */
export const readJson = (request: EndpointRequest, most = maxBody): Effect.Effect<unknown, RequestFailed> =>
  attempt(async (signal) => JSON.parse(await beginningOf(await send(request, signal), most)))

const attempt = <A>(work: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: work,
    catch: (error) => (error instanceof RequestFailed ? error : new RequestFailed({ message: unreachable(error) }))
  })

/** The body of the answer. */
const send = async ({ body, headers, method, url }: EndpointRequest, signal: AbortSignal) => {
  const response = await fetch(url, {
    ...(method ? { method } : { method: "POST", body: JSON.stringify(body) }),
    headers: { "content-type": "application/json", ...headers },
    redirect: "error",
    signal
  })
  const chunks: AsyncIterable<Uint8Array> = response.body ?? (async function* () {})()
  if (!response.ok) {
    const text = await beginningOf(chunks)
    throw new RequestFailed({
      message: `HTTP ${response.status}: ${messageOf(text) || response.statusText}`,
      status: response.status,
      body: text
    })
  }
  return chunks
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // `[DONE]`, after the last event of a chat.
    return undefined
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

const unreachable = (error: unknown): string => {
  const { cause, message } = error instanceof Error ? error : { cause: undefined, message: String(error) }
  return `The endpoint did not answer: ${cause instanceof Error && cause.message !== "" ? cause.message : message}`
}
