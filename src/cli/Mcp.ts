import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FiberMap, Option, Predicate, Result, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { remote } from "./Command.ts"
import { printError } from "./Output.ts"

/** A message of the protocol (JSON-RPC 2.0). */
interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
}

interface Problem {
  readonly title: string
  readonly detail: string
}

const parse = (line: string): Message | undefined => {
  const parsed = Result.try((): unknown => JSON.parse(line))
  return Result.isSuccess(parsed) && Predicate.isObject(parsed.success) ? parsed.success : undefined
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** Headers that repeat parts of the request's message. Clients of 2025 say the version once, in `initialize`. */
const headersOf = ({ method, params = {} }: Message, version: string | undefined): Record<string, string> => {
  const { _meta: meta, name, taskId } = params
  const own = Predicate.isObject(meta)
    ? textOf((meta as Readonly<Record<string, unknown>>)["io.modelcontextprotocol/protocolVersion"])
    : undefined
  const named = textOf(name) ?? textOf(taskId)
  const used = own ?? version
  return {
    accept: "application/json, text/event-stream",
    ...(used !== undefined && { "mcp-protocol-version": used }),
    ...(own !== undefined && method !== undefined && { "mcp-method": method }),
    ...(own !== undefined && named !== undefined && { "mcp-name": named })
  }
}

const isEvents = ({ headers }: HttpClientResponse.HttpClientResponse): boolean =>
  headers["content-type"]?.startsWith("text/event-stream") === true

const texts = {
  about: "Offer webhooks to an AI assistant on this machine",
  details:
    "Speaks the Model Context Protocol on standard input and output, for assistants that cannot reach /mcp over HTTP.",
  examples: ["claude mcp add webhooks -- webhook-trigger mcp --url https://hooks.example.com"]
}

/** Passes messages on from standard input to the server, and its answers to standard output, one on a line. */
export const mcp = remote("mcp", texts, {}, (_, { adminKey, url }) =>
  Effect.gen(function* () {
    const http = yield* HttpClient.HttpClient
    const inProgress = yield* FiberMap.make<string | number, void, never>()
    let version: string | undefined

    const write = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

    /** Passes on a message of the server. Returns whether it is the answer; an error may be without an id. */
    const pass = ({ id }: Message, line: string) => {
      const message = parse(line)
      if (message === undefined) return Effect.succeed(false)
      const { error, result } = message as {
        readonly error?: unknown
        readonly result?: { readonly protocolVersion?: string }
      }
      version = result?.protocolVersion ?? version
      const isAnonymous = error !== undefined && (message.id ?? null) === null
      const passed = isAnonymous && id !== undefined ? JSON.stringify({ ...message, id }) : line
      return Effect.as(write(passed), isAnonymous || message.id === id)
    }

    const refuse = ({ id }: Message, message: string): Effect.Effect<void> =>
      id === undefined
        ? printError(message)
        : write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }))

    const answersIn = (response: HttpClientResponse.HttpClientResponse): Stream.Stream<string, unknown> =>
      isEvents(response)
        ? response.stream.pipe(
            Stream.decodeText,
            Stream.splitLines,
            Stream.filter((line) => line.startsWith("data:")),
            Stream.map((line) => line.slice("data:".length).trim())
          )
        : Stream.fromEffect(Effect.map(response.text, (text) => text.trim()))

    const relay = (message: Message, line: string): Effect.Effect<void> =>
      Effect.gen(function* () {
        const request = HttpClientRequest.post(`${url}/mcp`).pipe(
          HttpClientRequest.setHeaders(headersOf(message, version)),
          HttpClientRequest.bodyText(line, "application/json"),
          Option.isSome(adminKey) ? HttpClientRequest.bearerToken(adminKey.value) : (request) => request
        )
        const response = yield* http.execute(request)
        const { headers, status } = response
        const silence = `The server answered ${status}, without a message of the protocol.`
        if (headers["content-type"]?.startsWith("application/problem+json")) {
          const { detail, title } = (yield* Effect.orElseSucceed(response.json, () => ({}))) as Partial<Problem>
          return yield* refuse(message, title === undefined ? silence : `${title}. ${detail}`)
        }
        let isAnswered = message.id === undefined && status < 400
        yield* Stream.runForEach(answersIn(response), (text) =>
          Effect.map(pass(message, text), (isAnswer) => {
            isAnswered ||= isAnswer
          })
        )
        if (!isAnswered) yield* refuse(message, silence)
      }).pipe(Effect.catch(() => refuse(message, `The server at ${url} is out of reach.`)))

    const take = (line: string) => {
      const message = parse(line)
      if (message === undefined) return printError("A line on standard input is not a message of the protocol.")
      const cancelled = message.params?.requestId
      if (message.method === "notifications/cancelled" && cancelled !== undefined) {
        return FiberMap.remove(inProgress, cancelled as string | number)
      }
      return message.id === undefined
        ? relay(message, line)
        : Effect.asVoid(FiberMap.run(inProgress, message.id, relay(message, line)))
    }

    yield* NodeStream.fromReadable({ evaluate: () => process.stdin, onError: () => "closed" as const }).pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.filter((line) => line.trim() !== ""),
      Stream.runForEach(take),
      Effect.ignore
    )
    yield* FiberMap.awaitEmpty(inProgress)
  }).pipe(Effect.scoped)
)
