/** What the fake model says, whatever the protocol. */
import type { ServerResponse } from "node:http"

/** One turn of the model: text in pieces, the use of its shell, or the call of another tool. */
export type Turn =
  | {
      readonly kind: "text"
      readonly pieces: ReadonlyArray<string>
      readonly hangs?: boolean
      /** Milliseconds before the first piece. */
      readonly delay?: number
    }
  | { readonly kind: "tool"; readonly command: string; readonly description: string }
  | {
      readonly kind: "call"
      readonly name: string
      /** Codex groups the tools of a server. */
      readonly namespace?: string
      readonly arguments: object
    }

/** A model endpoint's way to say a turn, streamed. */
export type Protocol = (response: ServerResponse, turn: Turn, model: string) => void

let messages = 0
/** The id of one more message. */
export const nextId = (): string => `msg_${++messages}`

export const usage = { input: 1200, cached: 200, output: 34 }

/** Sends server-sent events; `event` is their type. */
export const sse = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  return (data: unknown, event?: string) =>
    response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
}

/** The pieces that are sent: a model that hangs stops after the first. */
export const sentPieces = ({ hangs, pieces }: Extract<Turn, { kind: "text" }>) => (hangs ? pieces.slice(0, 1) : pieces)
