/** Reads server-sent events. */
import { type IncomingMessage, request } from "node:http"
import { Effect, type Scope } from "effect"

export interface Event {
  readonly event: string
  readonly id: string | undefined
  readonly data: any
}

const parse = (block: string): ReadonlyArray<Event> => {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1]
  const data = field("data")
  return data === undefined ? [] : [{ event: field("event") ?? "", id: field("id"), data: JSON.parse(data) }]
}

export interface EventReader {
  readonly headers: IncomingMessage["headers"]
  /** The next event. */
  readonly next: Effect.Effect<Event>
  /** All events up to the end of the stream. */
  readonly rest: Effect.Effect<ReadonlyArray<Event>>
  /** Closes the connection. */
  readonly close: Effect.Effect<void>
}

interface Request {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** On a connection of its own, since `fetch` opens another one after a stream was aborted, and sends nothing on it. */
const send = (url: string, { body, headers = {}, method = "GET" }: Request) =>
  Effect.acquireRelease(
    Effect.callback<IncomingMessage>((resume) => {
      request(url, { method, headers, agent: false }, (response) => resume(Effect.succeed(response)))
        .on("error", (cause) => resume(Effect.die(cause)))
        .end(body)
    }),
    (response) => Effect.sync(() => response.destroy())
  )

/** Opens a stream of events, which is closed with the scope. */
export const openEvents = (url: string, sent: Request = {}): Effect.Effect<EventReader, never, Scope.Scope> =>
  Effect.gen(function* () {
    const response = yield* send(url, sent)
    const { headers, statusCode } = response
    const chunks = response.setEncoding("utf8")[Symbol.asyncIterator]() as AsyncIterator<string>
    if (statusCode !== 200 || headers["content-type"] !== "text/event-stream") {
      return yield* Effect.die(
        new Error(`answered ${statusCode} ${(yield* Effect.promise(() => chunks.next())).value}`)
      )
    }
    let received = ""
    const events: Array<Event> = []
    /** False at the end of the stream. */
    const read = async (): Promise<boolean> => {
      const { done, value } = await chunks.next()
      if (done === true) return false
      const blocks = `${received}${value}`.split("\n\n")
      received = blocks.pop()!
      events.push(...blocks.flatMap(parse))
      return true
    }
    const next = Effect.promise(async () => {
      while (events.length === 0) if (!(await read())) throw new Error("the stream has ended")
      return events.shift()!
    })
    const rest = Effect.promise(async () => {
      while (await read()) {}
      return events.splice(0)
    })
    return { headers, next, rest, close: Effect.sync(() => response.destroy()) }
  })
