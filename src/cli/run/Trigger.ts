import { Config, Effect, Option, Redacted, Result, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { hasProperty } from "effect/Predicate"
import { Accepted, Cancelled, Ignored, Answered as Success } from "../../api/run/RunAnswers.ts"
import type { RunEvent } from "../../api/run/RunEvents.ts"
import { triggerPath, triggerUrl } from "../../api/run/TriggerUrl.ts"
import * as Json from "../../domain/Json.ts"
import { jsonOf, parseUrl } from "../Call.ts"
import { open } from "../Command.ts"
import { Failure, fromClient, fromResponse, unexpected, usage } from "../Failure.ts"
import { acceptedText, answerText, plural, print, printError, printJson } from "../Output.ts"
import * as Follow from "./Follow.ts"
import { failUnsuccessful, outcomeOf, sayHowToReply } from "./Outcome.ts"
import { inputFlags, inputOf, needsPayload, needsVariables, type TriggerInput } from "./TriggerInput.ts"

const target = Argument.Redacted("token-or-url").pipe(
  Argument.withDescription(
    "The trigger URL or only the token; prefer WEBHOOK_TOKEN, which is not visible in process lists"
  ),
  Argument.withFallbackConfig(Config.Redacted("WEBHOOK_TOKEN")),
  Argument.optional
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

interface Asked {
  readonly callback: Option.Option<string>
  readonly notBefore: Option.Option<string>
}

const requestTo = (address: string, input: TriggerInput, waits: boolean, { callback, notBefore }: Asked) => {
  const { body, headers, search } =
    input._tag === "Request"
      ? input.request
      : {
          body: new TextEncoder().encode(Json.stringify({ variables: input.variables })),
          headers: { "content-type": "application/json" },
          search: ""
        }
  const urlParams = new URLSearchParams(search)
  if (waits) urlParams.append("wait", "true")
  if (Option.isSome(callback)) urlParams.append("callback_url", callback.value)
  if (Option.isSome(notBefore)) urlParams.append("not_before", notBefore.value)
  return HttpClientRequest.post(address, { urlParams }).pipe(
    HttpClientRequest.bodyUint8Array(body, headers["content-type"]),
    HttpClientRequest.setHeaders(headers)
  )
}

const Answer = Schema.Union([Accepted, Success, Ignored, Cancelled])

/** The result of a request to start a run. */
export const textOfAnswer = (answer: typeof Answer.Type): string => {
  switch (answer.status) {
    case "ignored":
      return `Ignored: no run was started. ${answer.reason ?? "The request is a ping or does not pass the filter (accept_if)."}`
    case "cancelled":
      return `Cancelled ${plural(answer.run_ids.length, "run")}: the request passes the filter cancel_if.${answer.run_ids.map((id) => `\n${id}`).join("")}`
    case "accepted":
      return acceptedText(answer.run_id)
    case "success":
      return answerText(answer.response)
  }
}

/** The JSON of a response, or its text, such as the reply to a chat command. */
const bodyOf = (response: HttpClientResponse.HttpClientResponse) =>
  response.headers["content-type"]?.startsWith("text/plain") ? response.text : jsonOf(response)

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

/** The run whose events a response has: the last part of `Location`. */
const runOf = ({ headers }: HttpClientResponse.HttpClientResponse): string =>
  /[^/?#]*(?=$|[?#])/.exec(headers.location ?? "")?.[0] ?? ""

/** Only for people: the answer may take minutes. */
const sayWaiting = ({ data, event }: RunEvent): Effect.Effect<void> =>
  event === "accepted" && process.stderr.isTTY
    ? printError(`Waiting for the run ${data.run_id}. Ctrl-C leaves it running.`)
    : Effect.void

/** The end of a run that was waited for. Events say at once which run it is, for those who stop waiting. */
const waited = Effect.fnUntraced(function* (source: Follow.Source, response: HttpClientResponse.HttpClientResponse) {
  const end = yield* Follow.untilEnd(source, runOf(response), response, sayWaiting)
  if (end.event === "success") return end.data as unknown
  return yield* end.event === "cancelled"
    ? Effect.flatMap(fromClient(source.url)(end.data), Effect.fail)
    : failUnsuccessful(end.data)
})

const stream = Flag.Boolean("stream").pipe(
  Flag.withoutNegation,
  Flag.withDescription("Wait for the answer and print it as the agent writes it"),
  Flag.withDefault(false)
)
export const wait = Flag.Boolean("wait").pipe(
  Flag.withoutNegation,
  Flag.withDescription("Wait for the answer and print it"),
  Flag.withDefault(false)
)
const callback = Flag.String("callback-url").pipe(
  Flag.withMetavar("url"),
  Flag.withDescription(
    "URL that receives a signed event when the run ends; the webhook needs a callback destination that allows it"
  ),
  Flag.optional
)

const notBefore = Flag.String("not-before").pipe(
  Flag.withMetavar("time"),
  Flag.withDescription(
    "When the run begins, at the earliest: a time such as 2026-01-31T03:00:00Z, or a duration such as 8h"
  ),
  Flag.optional
)

export const trigger = open(
  "trigger",
  {
    about: "Trigger a webhook by its URL or token, without an admin key",
    details: "A webhook with input payload receives --payload unchanged, with --header and --query.",
    examples: [
      "webhook-trigger trigger https://hooks.example.com/webhook/trigger/whk_… --var branch=main --wait",
      'WEBHOOK_TOKEN=whk_… webhook-trigger trigger --var branch=main --json-var \'labels=["a","b"]\'',
      "webhook-trigger trigger whk_… --payload @push.json --header 'X-GitHub-Event: push'"
    ]
  },
  { target, input: inputFlags, wait, stream, callback, notBefore },
  (options, { json, url: usual }) =>
    Effect.gen(function* () {
      // A missing token is reported like a malformed one.
      const given = Option.match(options.target, { onNone: () => "", onSome: Redacted.value })
      const { url, token, waits } = yield* locate(given.trim(), usual)
      const input = yield* inputOf(options.input)
      const isFollowed = options.stream || options.wait || waits
      const request = requestTo(triggerUrl(url, token), input, isFollowed, options)
      const source: Follow.Source = {
        ...{ url, json, notFound: noWebhook(url) },
        events: (run_id) => HttpClientRequest.get(`${triggerUrl(url, token)}/runs/${run_id}/events`)
      }
      const answered = yield* Effect.gen(function* () {
        const client = yield* HttpClient.HttpClient
        const response = yield* client.execute(isFollowed ? Follow.acceptEvents(request) : request)
        // A request that starts no run gets an answer instead of events.
        if (Follow.isEventStream(response)) {
          return yield* options.stream
            ? Effect.as(Follow.follow(source, runOf(response), response), Option.none())
            : Effect.asSome(waited(source, response))
        }
        if (response.status < 400) return yield* Effect.asSome(bodyOf(response))
        // A proxy may send these statuses too, with another body.
        const outcome = [408, 502].includes(response.status)
          ? outcomeOf(yield* Effect.option(response.json))
          : undefined
        return yield* outcome ?? Effect.flatMap(fromResponse(url, response, noWebhook(url)), Effect.fail)
      }).pipe(
        Effect.catch((error) => Effect.flatMap(fromClient(url, noWebhook(url))(error), Effect.fail)),
        Effect.mapError((failure) => withHint(failure, input))
      )
      if (Option.isNone(answered)) return
      const body = answered.value
      if (typeof body === "string") return yield* json ? printJson(body) : print(answerText(body))
      const answer = Schema.decodeUnknownResult(Answer)(body)
      if (Result.isFailure(answer)) return yield* unexpected(url)
      if (json) return yield* printJson(body)
      yield* print(textOfAnswer(answer.success))
      if (answer.success.status === "success") yield* sayHowToReply(answer.success)
    })
)
