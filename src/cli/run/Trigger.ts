import { Config, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { type ParseResult } from "effect"
import { hasProperty } from "effect/Predicate"
import { Accepted, Cancelled, Failed, Ignored, Answered as Success, TimedOut } from "../../api/run/RunAnswers.ts"
import type { RunEvent } from "../../api/run/RunEvents.ts"
import { triggerPath, triggerUrl } from "../../api/run/TriggerUrl.ts"
import * as Json from "../../domain/Json.ts"
import { type Connection, parseUrl, publicOptions, show } from "../Connection.ts"
import { Failure, fromClient, usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { acceptedText, answerText, plural, print, printError, printJson } from "../Output.ts"
import * as Follow from "./Follow.ts"
import { failUnsuccessful, wait } from "./Outcome.ts"
import { sayHowToReply } from "./Question.ts"
import { inputOf, inputOptions, needsPayload, needsVariables, type TriggerInput } from "./TriggerInput.ts"

const target = Argument.Redacted({ name: "token-or-url" }).pipe(
  Argument.withDescription(
    "The trigger URL or only the token; prefer WEBHOOK_TOKEN, which is not visible in process lists"
  ),
  // A missing token is reported like a malformed one.
  Argument.withFallbackConfig(Config.Redacted(Config.withDefault(Config.String("WEBHOOK_TOKEN"), "")))
)

const path = `${triggerPath}/`

/** A trigger URL contains the server's address, the token and optionally `wait=true`. */
const locate = (target: string, url: string) => {
  const at = Math.max(target.indexOf(path), 0)
  const [token = "", query] = target.slice(at + path.length).split(/[?#]/)
  return Option.match(parseUrl(target.slice(0, at)), {
    onSome: (url) => Effect.succeed({ url, token, waits: new URLSearchParams(query).get("wait") === "true" }),
    onNone: () =>
      target.startsWith("whk_")
        ? Effect.succeed({ url, token: target, waits: false })
        : Effect.fail(
            usage(
              "a trigger URL (https://…/webhook/trigger/whk_…) or a token (whk_…) is required, as an argument or in WEBHOOK_TOKEN"
            )
          )
  })
}

const requestTo = (address: string, input: TriggerInput, waits: boolean, callback: Option.Option<string>) => {
  const { body, headers, search } =
    input._tag === "Request"
      ? input.request
      : {
          body: new TextEncoder().encode(Json.stringify({ variables: input.variables })),
          headers: { "content-type": "application/json" },
          search: ""
        }
  const parameters = new URLSearchParams(search)
  if (waits) parameters.append("wait", "true")
  if (Option.isSome(callback)) parameters.append("callback_url", callback.value)
  return HttpClientRequest.post(address, { urlParams: parameters }).pipe(
    HttpClientRequest.bodyUint8Array(body, headers["content-type"]),
    HttpClientRequest.setHeaders(headers)
  )
}

const Answer = Schema.Union([Accepted, Success, Ignored, Cancelled])

/** What became of a request to start a run. */
export const showAnswer = (connection: Connection, answer: typeof Answer.Type) =>
  show(connection, Answer, answer, (answer) => {
    if (answer.status === "ignored")
      return `Ignored: no run was started. ${answer.reason ?? "The request is a ping or does not pass the filter (accept_if)."}`
    if (answer.status === "cancelled")
      return `Cancelled ${plural(answer.run_ids.length, "run")}: the request passes the filter cancel_if.${answer.run_ids.map((id) => `\n${id}`).join("")}`
    return answer.status === "accepted" ? acceptedText(answer.run_id) : answerText(answer.response)
  }).pipe(Effect.tap(answer.status === "success" && !connection.json ? sayHowToReply(answer) : Effect.void))
const Unsuccessful = Schema.Union([TimedOut, Failed])

/** Whether the response is plain text, such as the reply to a chat command. */
const isText = ({ headers }: HttpClientResponse.HttpClientResponse) => headers["content-type"]?.startsWith("text/plain")

type Answered = Effect.Effect<
  typeof Answer.Type | string,
  Failure | ParseResult.ParseError | HttpClientError.ResponseError
>

const answerOf = (response: HttpClientResponse.HttpClientResponse): Answered => {
  // A proxy may send these statuses too, with another body.
  const outcome = [408, 502].includes(response.status)
    ? Effect.option(HttpClientResponse.schemaBodyJson(Unsuccessful)(response))
    : Effect.succeedNone
  return Effect.flatMap(
    outcome,
    Option.match({
      onSome: (run): Answered => failUnsuccessful(run),
      onNone: (): Answered =>
        Effect.flatMap(
          HttpClientResponse.filterStatusOk(response),
          (response): Answered =>
            isText(response) ? response.text : HttpClientResponse.schemaBodyJson(Answer)(response)
        )
    })
  )
}

/** The command knows only the token, so it learns from an error which kind of input the webhook accepts. */
const withHint = (failure: Failure, input: TriggerInput): Failure => {
  const { body } = failure
  const isRefusedFor = (code: string) => hasProperty(body, "code") && body.code === code
  const lacks = (failure.faults ?? []).map(({ pointer }) => pointer)
  const hint =
    input._tag === "Request"
      ? isRefusedFor("invalid_body") && needsVariables
      : isRefusedFor("missing_variables") && !lacks.some((pointer) => pointer.startsWith("--var ")) && needsPayload
  return hint === false
    ? failure
    : new Failure({ ...failure, faults: [...(failure.faults ?? []), { pointer: "", detail: hint }] })
}

const noWebhook = (url: string) => `No webhook at ${url} has this token, or it is switched off`

/** Sends the request and handles its response; errors of the client become failures. */
const send = <A, E, R>(
  url: string,
  request: HttpClientRequest.HttpClientRequest,
  input: TriggerInput,
  handle: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(HttpClient.HttpClient, (client) => Effect.flatMap(client.execute(request), handle)).pipe(
    Effect.catch((error) =>
      Effect.flatMap(fromClient(url, noWebhook(url))(error), (failure) => Effect.fail(withHint(failure, input)))
    )
  )

/** The run whose events a response has: the last part of `Location`. */
const runOf = ({ headers }: HttpClientResponse.HttpClientResponse): string =>
  /[^/?#]*(?=$|[?#])/.exec(headers.location ?? "")?.[0] ?? ""

const sourceOf = ({ json, url }: Connection, token: string): Follow.Source => ({
  ...{ url, json },
  notFound: noWebhook(url),
  events: (run_id) => HttpClientRequest.get(`${triggerUrl(url, token)}/runs/${run_id}/events`)
})

/** Only for people: the answer may take minutes. */
const sayWaiting = ({ data, event }: RunEvent): Effect.Effect<void> =>
  event === "accepted" && process.stderr.isTTY
    ? printError(`Waiting for the run ${data.run_id}. Ctrl-C leaves it running.`)
    : Effect.void

/** Waits for the answer. Events say at once which run it is, for those who stop waiting. */
const waitOr = (connection: Connection, token: string) => (response: HttpClientResponse.HttpClientResponse) =>
  Follow.isEventStream(response)
    ? Effect.flatMap(
        Follow.untilEnd(sourceOf(connection, token), runOf(response), response, sayWaiting),
        (end): Answered => {
          if (end.event === "success") return Effect.succeed(end.data)
          return end.event === "cancelled"
            ? Effect.flatMap(fromClient(connection.url, undefined)(end.data), Effect.fail)
            : failUnsuccessful(end.data)
        }
      )
    : answerOf(response)

/** Follows the run. A request that starts no run gets an answer instead of events. */
const followOr = (connection: Connection, token: string) => (response: HttpClientResponse.HttpClientResponse) => {
  if (!Follow.isEventStream(response)) return Effect.asSome(answerOf(response))
  return Effect.as(Follow.follow(sourceOf(connection, token), runOf(response), response), Option.none())
}

const stream = Flag.Boolean("stream").pipe(
  Flag.withDescription("Wait for the answer and print it as the agent writes it")
)

const callback = Flag.String("callback-url").pipe(
  Flag.withMetavar("url"),
  Flag.withDescription(
    "URL that receives a signed event when the run ends; the webhook needs a callback destination that allows it"
  ),
  Flag.optional
)

export const trigger = Command.make(
  "trigger",
  { target, input: inputOptions, wait, stream, callback, ...publicOptions },
  (options) =>
    Effect.gen(function* () {
      const { url, token, waits } = yield* locate(Redacted.value(options.target).trim(), options.url)
      const input = yield* inputOf(options.input)
      const isWaiting = options.wait || waits
      const request = requestTo(triggerUrl(url, token), input, isWaiting || options.stream, options.callback)
      const connection = { url, json: options.json }
      const answered = yield* options.stream
        ? send(url, Follow.acceptEvents(request), input, followOr(connection, token))
        : Effect.asSome(
            isWaiting
              ? send(url, Follow.acceptEvents(request), input, waitOr(connection, token))
              : send(url, request, input, answerOf)
          )
      if (Option.isNone(answered)) return
      const answer = answered.value
      if (typeof answer === "string") return yield* options.json ? printJson(answer) : print(answerText(answer))
      yield* showAnswer(options, answer)
    })
).pipe(
  Command.withDescription(
    about("Trigger a webhook by its URL or token, without an admin key", {
      details: "A webhook with input payload receives --payload unchanged, with --header and --query.",
      examples: [
        "webhook-trigger trigger https://hooks.example.com/webhook/trigger/whk_… --var branch=main --wait",
        'WEBHOOK_TOKEN=whk_… webhook-trigger trigger --var branch=main --json-var \'labels=["a","b"]\'',
        "webhook-trigger trigger whk_… --payload @push.json --header 'X-GitHub-Event: push'"
      ]
    })
  )
)
