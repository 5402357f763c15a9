/** A receiver of events on this machine, which misbehaves as a test asks it to. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly path: string
  readonly method: string
}

/** A status; an answer in parts; or what becomes of the request otherwise. */
export type Answer =
  | number
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | ((response: ServerResponse, request: Received) => void)

/** Never answers. */
export const hang: Answer = () => {}

/** Closes the connection in place of an answer. */
export const cut: Answer = (response) => response.destroy()

/** Answers these, one after the other, and then the last; or by the request's path. */
export const receiver = (...answers: ReadonlyArray<Answer> | [Readonly<Record<string, Answer>>]) =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    let connections = 0
    const answerTo = (path: string): Answer => {
      const [first] = answers
      if (typeof first === "object" && !("status" in first)) return (first as Record<string, Answer>)[path] ?? 404
      return (answers as ReadonlyArray<Answer>)[Math.min(received.length, answers.length - 1)] ?? 200
    }
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => {
        body += chunk
      })
      request.on("end", () => {
        const path = request.url ?? ""
        const answer = answerTo(path)
        const one = { headers: request.headers, body, path, method: request.method ?? "" }
        received.push(one)
        if (typeof answer === "function") return answer(response, one)
        const whole = typeof answer === "number" ? { status: answer } : answer
        response.writeHead(whole.status, { ...whole.headers }).end(whole.body ?? `answer ${received.length}`)
      })
    })
    server.on("connection", () => connections++)
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    )
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}/hook`, port, received, connections: () => connections }
  })
