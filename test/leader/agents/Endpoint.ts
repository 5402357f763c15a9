/** Small endpoints on this machine, for tests of presets. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly [field: string]: unknown }
}

/** An endpoint that answers each request with this function, and remembers them. */
export const endpoint = (answer: (response: ServerResponse, received: Received) => void) =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const server = yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        // Node's own five seconds may end a connection that is about to be used.
        const server = createServer({ keepAliveTimeout: 60_000 }, async (request: IncomingMessage, response) => {
          const chunks: Array<Uint8Array> = []
          for await (const chunk of request) chunks.push(chunk)
          const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
          const one = { path: request.url!, headers: request.headers, body }
          received.push(one)
          answer(response, one)
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.callback<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    )
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, received }
  })

export const sendEvents = (response: ServerResponse, ...events: ReadonlyArray<object>) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
}

export const refuse = (response: ServerResponse, status: number, error: object) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }))

/** With an environment variable. */
export const environment = (name: string, value: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env[name]
      process.env[name] = value
      return before
    }),
    (before) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
  )
