/** Ways to talk to a server: `fetch`, and bytes on a socket. */
import { connect, type Socket } from "node:net"
import { expect } from "@effect/vitest"
import { Effect } from "effect"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: any
}

export interface Call {
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Record<string, string>
}

const bytes = (raw: string | Uint8Array) => (typeof raw === "string" ? new TextEncoder().encode(raw) : raw)

/** Sends a request; `body` is sent as JSON, `raw` as it is and without a Content-Type. */
export const call =
  (origin: string) =>
  (method: string, path: string, { body, raw, headers = {} }: Call = {}) =>
    Effect.promise(async (signal): Promise<Answer> => {
      const response = await fetch(`${origin}${path}`, {
        method,
        signal,
        redirect: "manual",
        // Else a busy process may send a request just when the server closes the connection.
        headers: { connection: "close", ...(body !== undefined && { "content-type": "application/json" }), ...headers },
        ...(body !== undefined ? { body: JSON.stringify(body) } : raw !== undefined ? { body: bytes(raw) } : {})
      })
      const text = await response.text()
      const isJson = /json\b/.test(response.headers.get("content-type") ?? "") && text !== ""
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
    })

/** The status and code of a problem, after checking that the problem is complete. */
export const refusal = ({ status, headers, json }: Answer) => {
  expect(headers.get("content-type")).toBe("application/problem+json")
  expect(Object.keys(json)).toStrictEqual(expect.arrayContaining(["type", "title", "status", "detail", "code"]))
  expect(json.status).toBe(status)
  expect(json.type).toBe(`/docs#${json.code}`)
  return [status, json.code] as const
}

/** The pointers of a problem's faults. */
export const pointers = ({ json }: Answer): Array<string> =>
  json.errors.map(({ pointer }: { pointer: string }) => pointer)

/** For lists whose order does not matter. */
export const sorted = (texts: Iterable<string>): Array<string> => [...texts].sort()

type Closed = "ended" | "reset" | "by us"

const connection = (port: number, use: (socket: Socket, done: (closed: Closed) => void) => () => string) =>
  Effect.callback<{ readonly text: string; readonly closed: Closed }>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const done = (closed: Closed) => {
      resume(Effect.sync(() => ({ text: received(), closed })))
      socket.destroy()
    }
    const received = use(socket, done)
    socket.on("end", () => done("ended")).on("error", () => done("reset"))
    return Effect.sync(() => socket.destroy())
  })

const receive = (socket: Socket, onText: (text: string) => void = () => {}) => {
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
    onText(text)
  })
  return () => text
}

/** Writes bytes to a new connection, and reads until the server closes it or `until` is true of the text so far. */
export const wire = (port: number, bytes: string | Uint8Array, until: (text: string) => boolean = () => false) =>
  connection(port, (socket, done) => {
    socket.write(bytes)
    return receive(socket, (text) => until(text) && done("by us"))
  })

/** Writes everything before it reads, as most simple clients do. */
export const writeThenRead = (port: number, bytes: string | Uint8Array) =>
  connection(port, (socket) => {
    let received = () => ""
    socket.pause().write(bytes, () => {
      received = receive(socket)
      socket.resume()
    })
    return () => received()
  })

/** Sends the head and then chunks without end; resolves when the server has closed the connection. */
export const flood = (port: number, head: string, chunk: string | Uint8Array) =>
  Effect.callback<{ readonly text: string; readonly sent: number }>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const received = receive(socket)
    const send = () => void (socket.writable && socket.write(chunk))
    socket.write(head)
    socket.on("drain", send).on("error", () => {})
    socket.on("close", () => resume(Effect.succeed({ text: received(), sent: socket.bytesWritten })))
    send()
    return Effect.sync(() => socket.destroy())
  })

/** Sends each part once the text that was received so far matches its pattern; resolves with all text at the last pattern. */
export const dialog = (port: number, parts: ReadonlyArray<readonly [after: RegExp, send: string]>, end: RegExp) =>
  connection(port, (socket, done) => {
    const left = [...parts]
    const onText = (text: string) => {
      while (left[0]?.[0].test(text)) socket.write(left.shift()![1])
      if (left.length === 0 && end.test(text)) done("by us")
    }
    const received = receive(socket, onText)
    onText("")
    return received
  })
