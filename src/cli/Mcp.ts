import { Effect, FiberMap, Option, Predicate, Redacted, Stream, Struct } from "effect"
import { Command } from "effect/cli"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { adminOptions } from "./Connection.ts"
import { about } from "./Help.ts"
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

const parse = (line: string): Option.Option<Message> =>
  Option.filter(Option.liftThrowable((): unknown => JSON.parse(line))(), Predicate.isObject)

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** What an HTTP request repeats of its message in headers. Clients of 2025 say the version once, in `initialize`. */
const headersOf = ({ method, params = {} }: Message, version: string | undefined): Record<string, string> => {
  const { _meta: meta, name, taskId } = params
  const own = Predicate.isObject(meta) ? textOf(meta["io.modelcontextprotocol/protocolVersion"]) : undefined
  const named = textOf(name) ?? textOf(taskId)
  return {
    accept: "application/json, text/event-stream",
    ...((own ?? version) && { "mcp-protocol-version": own ?? version }),
    ...(own && method !== undefined && { "mcp-method": method }),
    ...(own && named !== undefined && { "mcp-name": named })
  } as Record<string, string>
}

const isEvents = ({ headers }: HttpClientResponse.HttpClientResponse): boolean =>
  headers["content-type"]?.startsWith("text/event-stream") === true

/** Passes messages on from standard input to the server, and its answers to standard output, one on a line. */
export const mcp = Command.make("mcp", Struct.omit(adminOptions, "json"), (options) =>
  Effect.gen(function* () {
    const http = yield* HttpClient.HttpClient
    const inProgress = yield* FiberMap.make<string | number, void, never>()
    let version: string | undefined

    const write = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

    /** Passes on a message of the server. Returns whether it is the answer; an error may be without an id. */
    const pass = ({ id }: Message, line: string) =>
      Option.match(parse(line), {
        onNone: () => Effect.succeed(false),
        onSome: (message) => {
          const { error, result } = message as {
            readonly error?: unknown
            readonly result?: { readonly protocolVersion?: string }
          }
          version = result?.protocolVersion ?? version
          const isAnonymous = error !== undefined && (message.id ?? null) === null
          const passed = isAnonymous && id !== undefined ? JSON.stringify({ ...message, id }) : line
          return Effect.as(write(passed), isAnonymous || message.id === id)
        }
      })

    const refuse = ({ id }: Message, message: string): Effect.Effect<void> =>
      id === undefined
        ? printError(message)
        : write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }))

    const answersIn = (response: HttpClientResponse.HttpClientResponse): Stream.Stream<string, unknown> =>
      isEvents(response)
        ? response.stream.pipe(
            Stream.decodeText(),
            Stream.splitLines,
            Stream.filter((line) => line.startsWith("data:")),
            Stream.map((line) => line.slice("data:".length).trim())
          )
        : Stream.fromEffect(Effect.map(response.text, (text) => text.trim()))

    const relay = (message: Message, line: string): Effect.Effect<void> =>
      Effect.gen(function* () {
        const request = HttpClientRequest.post(`${options.url}/mcp`).pipe(
          HttpClientRequest.setHeaders(headersOf(message, version)),
          HttpClientRequest.bodyText(line, "application/json"),
          Option.isSome(options.adminKey)
            ? HttpClientRequest.bearerToken(Redacted.value(options.adminKey.value))
            : (request) => request
        )
        const response = yield* http.execute(request)
        const { headers, status } = response
        const silence = `The server answered ${status}, without a message of the protocol.`
        if (headers["content-type"]?.startsWith("application/problem+json")) {
          const { detail, title } = (yield* Effect.orElseSucceed(response.json, () => ({}))) as Partial<Problem>
          return yield* refuse(message, title === undefined ? silence : `${title}. ${detail}`)
        }
        const needsAnswer = message.id !== undefined || status >= 400
        const isAnswered = yield* Stream.runFoldEffect(answersIn(response), !needsAnswer, (isAnswered, text) =>
          Effect.map(pass(message, text), (isAnswer) => isAnswered || isAnswer)
        )
        if (!isAnswered) yield* refuse(message, silence)
      }).pipe(
        Effect.scoped,
        Effect.catch(() => refuse(message, `The server at ${options.url} is out of reach.`))
      )

    const take = (line: string) =>
      Option.match(parse(line), {
        onNone: () => printError("A line on standard input is not a message of the protocol."),
        onSome: (message) => {
          const cancelled = message.params?.requestId
          if (message.method === "notifications/cancelled" && cancelled !== undefined) {
            return FiberMap.remove(inProgress, cancelled as string | number)
          }
          return message.id === undefined
            ? relay(message, line)
            : FiberMap.run(inProgress, message.id, relay(message, line))
        }
      })

    yield* NodeStream.fromReadable(
      () => process.stdin,
      () => "closed" as const
    ).pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.filter((line) => line.trim() !== ""),
      Stream.runForEach(take),
      Effect.ignore
    )
    yield* FiberMap.awaitEmpty(inProgress)
  }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    about("Offer webhooks to an AI assistant on this machine", {
      details:
        "Speaks the Model Context Protocol on standard input and output, for assistants that cannot reach /mcp over HTTP.",
      examples: ["claude mcp add webhooks -- webhook-trigger mcp --url https://hooks.example.com"]
    })
  )
)
