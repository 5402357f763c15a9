/** Requests to an endpoint that answers with server-sent events. */
import { Data, Effect } from "effect"
import type { EventReader } from "./EventReader.ts"
import { splitLines } from "./Lines.ts"
import { messageOf } from "./Reading.ts"

/** The endpoint refused the request, or cannot be reached. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly message: string
  /** Absent if it cannot be reached. */
  readonly status?: number
  /** The beginning of its answer. */
  readonly body?: string
}> {}

export interface EndpointRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The longest refusal that is read, in bytes. */
const maxRefusal = 64 * 1024

/** Sends the request and reads the events until the stream ends. Interruption aborts it. */
export const readStream = (request: EndpointRequest, reader: EventReader): Effect.Effect<void, RequestFailed> =>
  Effect.tryPromise({
    try: (signal) => exchange(request, reader, signal),
    catch: (error) => (error instanceof RequestFailed ? error : new RequestFailed({ message: unreachable(error) }))
  })

const exchange = async ({ body, headers, url }: EndpointRequest, reader: EventReader, signal: AbortSignal) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
    body: JSON.stringify(body),
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
  const lines = splitLines((line) => {
    const event = dataOf(line)
    if (event !== undefined) reader.take(event)
  })
  for await (const chunk of chunks) lines.write(chunk)
  lines.end()
}

/** The event on a line of the stream. Model endpoints write each event's data on one line, and its type also in the data. */
const dataOf = (line: string): unknown => {
  if (!line.startsWith("data:")) return undefined
  try {
    return JSON.parse(line.slice("data:".length))
  } catch {
    // `[DONE]`, after the last event.
    return undefined
  }
}

const beginningOf = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const parts: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of chunks) {
    parts.push(chunk)
    length += chunk.byteLength
    if (length > maxRefusal) break
  }
  return Buffer.concat(parts).toString()
}

const unreachable = (error: unknown): string => {
  const { cause, message } = error instanceof Error ? error : { cause: undefined, message: String(error) }
  return `The endpoint did not answer: ${cause instanceof Error && cause.message !== "" ? cause.message : message}`
}
