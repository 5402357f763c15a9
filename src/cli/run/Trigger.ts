import { Args, Command } from "@effect/cli"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Config, Effect, Option, type ParseResult, Redacted, Schema } from "effect"
import { hasProperty } from "effect/Predicate"
import { Accepted, Failed, Ignored, Answered as Success, TimedOut } from "../../api/run/Trigger.ts"
import { triggerPath, triggerUrl } from "../../api/run/TriggerUrl.ts"
import { type Connection, parseUrl, publicOptions, show } from "../Connection.ts"
import { Failure, fromClient, usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { acceptedText, answerText, print, printJson } from "../Output.ts"
import { failUnsuccessful, wait } from "./Outcome.ts"
import { inputOf, inputOptions, needsPayload, needsVariables, type TriggerInput } from "./TriggerInput.ts"

const target = Args.redacted({ name: "token-or-url" }).pipe(
  Args.withDescription(
    "The trigger URL, or the token alone; better given as WEBHOOK_TOKEN, which no process list shows"
  ),
  // A missing token is reported like a malformed one.
  Args.withFallbackConfig(Config.redacted(Config.withDefault(Config.string("WEBHOOK_TOKEN"), "")))
)

const path = `${triggerPath}/`

/** A trigger URL holds the server's address and the token, and may say that the caller waits. */
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
              "a trigger URL (https://…/webhook/trigger/whk_…) or a token (whk_…) is needed, here or in WEBHOOK_TOKEN"
            )
          )
  })
}

/** As a caller sends it. */
const requestTo = (address: string, input: TriggerInput, waits: boolean) => {
  const { body, headers, search } =
    input._tag === "Request"
      ? input.request
      : {
          body: new TextEncoder().encode(JSON.stringify({ variables: input.variables })),
          headers: { "content-type": "application/json" },
          search: ""
        }
  const parameters = new URLSearchParams(search)
  if (waits) parameters.append("wait", "true")
  return HttpClientRequest.post(address, { urlParams: parameters }).pipe(
    HttpClientRequest.bodyUint8Array(body, headers["content-type"]),
    HttpClientRequest.setHeaders(headers)
  )
}

const Answer = Schema.Union(Accepted, Success, Ignored)
const Unsuccessful = Schema.Union(TimedOut, Failed)

/** What a service asked for in a text of its own, such as the webhook's reply to a command. */
const isText = ({ headers }: HttpClientResponse.HttpClientResponse) => headers["content-type"]?.startsWith("text/plain")

type Answered = Effect.Effect<
  typeof Answer.Type | string,
  Failure | ParseResult.ParseError | HttpClientError.ResponseError
>

const answerOf = (response: HttpClientResponse.HttpClientResponse): Answered => {
  // What a proxy says with such a status is no outcome.
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

/** The token says nothing of the webhook: what it takes shows when it refuses something else. */
const withHint = (failure: Failure, input: TriggerInput): Failure => {
  const { body } = failure
  const isRefusedFor = (code: string) => hasProperty(body, "code") && body.code === code
  const lacks = (failure.faults ?? []).map(({ pointer }) => pointer)
  const hint =
    input._tag === "Request"
      ? isRefusedFor("invalid_body") && needsVariables
      : isRefusedFor("missing_variables") && !lacks.some((pointer) => pointer.startsWith("/variables")) && needsPayload
  return hint === false
    ? failure
    : new Failure({ ...failure, faults: [...(failure.faults ?? []), { pointer: "", detail: hint }] })
}

const send = ({ url }: Connection, token: string, input: TriggerInput, waits: boolean) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    return yield* Effect.flatMap(client.execute(requestTo(triggerUrl(url, token), input, waits)), answerOf)
  }).pipe(
    Effect.catchAll((error) =>
      Effect.flatMap(fromClient(url, `No webhook at ${url} has this token, or it is switched off`)(error), (failure) =>
        Effect.fail(withHint(failure, input))
      )
    )
  )

export const trigger = Command.make("trigger", { target, input: inputOptions, wait, ...publicOptions }, (options) =>
  Effect.gen(function* () {
    const { url, token, waits } = yield* locate(Redacted.value(options.target).trim(), options.url)
    const input = yield* inputOf(options.input)
    const answer = yield* send({ url, json: options.json }, token, input, options.wait || waits)
    if (typeof answer === "string") return yield* options.json ? printJson(answer) : print(answerText(answer))
    yield* show(options, Answer, answer, (answer) => {
      if (answer.status === "ignored")
        return "Ignored: there is no run. It is a ping, or the webhook's accept_if does not hold."
      return answer.status === "accepted" ? acceptedText(answer.run_id) : answerText(answer.response)
    })
  })
).pipe(
  Command.withDescription(
    about("Trigger a webhook by its URL or token; needs no admin key", {
      details: "A webhook with input payload gets --payload as it is, with its --header and --query.",
      examples: [
        "webhook-trigger trigger https://hooks.example.com/webhook/trigger/whk_… --var branch=main --wait",
        'WEBHOOK_TOKEN=whk_… webhook-trigger trigger --var branch=main --json-var \'labels=["a","b"]\'',
        "webhook-trigger trigger whk_… --payload @push.json --header 'X-GitHub-Event: push'"
      ]
    })
  )
)
