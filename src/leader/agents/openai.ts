import { Effect, Result } from "effect"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import { type LeaderAnswer, LeaderError } from "../Leader.ts"
import type { Agent, Preset, Task } from "./Agent.ts"
import { inWords, isPlain, isStrict, refusedSchema, withoutDraft } from "./AnswerSchema.ts"
import { type Bounds, modelFault, readBounds, takingOnly } from "./Bounds.ts"
import { failed, isPassing, patiently, RequestFailed, readStream, streamEnd } from "./Endpoint.ts"
import { readHttpUrl, readOptions } from "./Options.ts"
import { type Events, readEvents } from "./output/EventReader.ts"
import { appended, at, conclude, failing, listAt, type Reading, reporting, textAt } from "./output/Reading.ts"
import { anyId, inSession, SessionLost } from "./Session.ts"

const example = "openai --model gpt-5"
const openaiUrl = "https://api.openai.com/v1"

interface OpenaiOptions {
  readonly url: string
  readonly model: string
  readonly api: keyof typeof apis
  readonly instructions?: string
}

const ended = (reading: Reading, response: unknown): Reading =>
  reporting(
    { ...reading, isDone: true },
    {
      session_id: at(response, "id"),
      usage: {
        input_tokens: at(response, "usage", "input_tokens"),
        output_tokens: at(response, "usage", "output_tokens"),
        cached_input_tokens: at(response, "usage", "input_tokens_details", "cached_tokens"),
        model: at(response, "model")
      }
    }
  )

/** The text that the model writes in an event. */
const writtenResponse = (event: unknown): string | undefined => {
  const type = at(event, "type")
  return type === "response.output_text.delta" || type === "response.refusal.delta" ? textAt(event, "delta") : undefined
}

/** The events of OpenAI's Responses: https://platform.openai.com/docs/api-reference/responses-streaming */
const responses: Events = {
  read: (reading, event) => {
    const text = writtenResponse(event)
    if (text !== undefined) return { ...reading, answer: appended(reading.answer, text) }
    const response = at(event, "response")
    switch (at(event, "type")) {
      case "response.output_item.added":
        // The last message is the answer.
        return at(event, "item", "type") === "message" ? { ...reading, answer: "" } : reading
      case "response.completed":
      case "response.done":
        return ended(reading, response)
      case "response.incomplete": {
        const reason = textAt(response, "incomplete_details", "reason") ?? "incomplete"
        return { ...ended(reading, response), failure: `The model stopped: ${reason}` }
      }
      case "response.failed":
        return {
          ...ended(reading, response),
          ...failing(textAt(response, "error", "message") ?? "The model failed", at(response, "error"))
        }
      case "error":
        return {
          ...reading,
          isDone: true,
          ...failing(textAt(event, "message") ?? textAt(event, "error", "message") ?? "The model failed", event)
        }
      default:
        return event === streamEnd ? { ...reading, isDone: true } : reading
    }
  },
  progress: (event) => {
    const text = writtenResponse(event)
    return text === undefined ? undefined : { text }
  }
}

const choiceOf = (event: unknown): unknown => listAt(event, "choices")[0]

/** The text that the model writes in an event. */
const writtenChat = (event: unknown): string | undefined => {
  const delta = at(choiceOf(event), "delta")
  return textAt(delta, "content") ?? textAt(delta, "refusal")
}

const withUsage = (reading: Reading, event: unknown): Reading =>
  reporting(reading, {
    usage: {
      input_tokens: at(event, "usage", "prompt_tokens"),
      output_tokens: at(event, "usage", "completion_tokens"),
      cached_input_tokens: at(event, "usage", "prompt_tokens_details", "cached_tokens"),
      model: at(event, "model")
    }
  })

/** How endpoints call the ends of an answer that is not whole. Any other end, such as `stop`, `eos` or `end_turn`, is a good one. */
const isCut =
  /length|max_?(\w+_)?tokens|context_window|filter|safety|sensitive|blocked|blocklist|prohibited|recitation|spii|refusal|tool|function|^(error|abort|aborted|cancelled|network_error|insufficient_system_resource)$/i

/** Some endpoints say in each chunk that the answer has not ended. */
const isNoEnd = /^(null|none|unspecified|finish_reason_unspecified)?$/i

/** The events of Chat Completions: https://platform.openai.com/docs/api-reference/chat-streaming */
const chat: Events = {
  read: (before, event) => {
    if (event === streamEnd) return { ...before, isDone: true }
    const text = writtenChat(event)
    const answered = text === undefined ? before : { ...before, answer: appended(before.answer, text) }
    const reading = at(event, "usage") ? withUsage(answered, event) : answered
    const failure = textAt(event, "error", "message") ?? textAt(event, "error")
    if (failure !== undefined) return { ...reading, isDone: true, ...failing(failure, at(event, "error")) }
    const reason = textAt(choiceOf(event), "finish_reason") ?? ""
    if (isNoEnd.test(reason)) return reading
    return { ...reading, isDone: true, ...(isCut.test(reason) && { failure: `The model stopped: ${reason}` }) }
  },
  progress: (event) => {
    const text = writtenChat(event)
    return text ? { text } : undefined
  }
}

interface Api {
  readonly path: string
  readonly events: typeof responses
  readonly body: (options: OpenaiOptions, prompt: string, session?: string) => object
  /** The part of the body for an answer with this schema. */
  readonly format: (schema: object) => object
}

const apis = {
  responses: {
    path: "/responses",
    events: responses,
    body: ({ instructions, model }, input, previous_response_id) => ({
      ...{ model, input, stream: true },
      ...(instructions !== undefined && { instructions }),
      ...(previous_response_id !== undefined && { previous_response_id })
    }),
    format: (schema) => ({ text: { format: { type: "json_schema", ...schema } } })
  },
  chat: {
    path: "/chat/completions",
    events: chat,
    body: ({ instructions, model }, prompt) => ({
      ...{ model, stream: true, stream_options: { include_usage: true } },
      messages: [
        ...(instructions === undefined ? [] : [{ role: "system", content: instructions }]),
        { role: "user", content: prompt }
      ]
    }),
    format: (json_schema) => ({ response_format: { type: "json_schema", json_schema } })
  }
} satisfies Readonly<Record<string, Api>>

const isApi = (name: string): name is keyof typeof apis => Object.hasOwn(apis, name)

/** OpenAI says so with the code, others with the status. */
const isLost = ({ body = "", status }: RequestFailed): boolean =>
  status === 404 || (status === 400 && body.includes("previous_response"))

/** Many endpoints know no schemas, or other ones. */
const refusesSchema = ({ body = "", status }: RequestFailed): boolean =>
  (status === 400 || status === 422) && refusedSchema.test(body)

const broken = "The connection ended before the answer was complete"

/** An error in the stream of an endpoint that had already accepted the request. */
const errorIn = (event: unknown): unknown =>
  at(event, "error") || at(event, "response", "error") || (at(event, "type") === "error" ? event : undefined)

const busyCodes = /rate_limit|overloaded|server_error|unavailable|timeout/

/** Some give the status that the request would have got as the code, others a word. */
const failureOf = (error: unknown, { failure = "The model failed" }: Reading): RequestFailed => {
  const code = at(error, "code") ?? at(error, "status") ?? at(error, "type")
  const status = Number(code) || (busyCodes.test(String(code)) ? 503 : undefined)
  return new RequestFailed({
    message: failure,
    body: JSON.stringify(error),
    ...(status !== undefined && { status })
  })
}

const ask = (
  options: OpenaiOptions,
  task: Task,
  session: string | undefined,
  schema: JsonObject | undefined
): Effect.Effect<LeaderAnswer, LeaderError | SessionLost> => {
  const api: Api = apis[options.api]
  // A chat has no sessions.
  if (session !== undefined && options.api === "chat") return new SessionLost()
  const key = process.env.OPENAI_API_KEY
  const request = {
    url: options.url + api.path,
    headers: key ? { authorization: `Bearer ${key}` } : {},
    body: {
      ...api.body(options, task.prompt.prompt, session),
      ...(schema && api.format({ name: "answer", schema: withoutDraft(schema), strict: isStrict(schema) }))
    }
  }
  /** Fails only if nothing of an answer was shown. */
  const attempt = Effect.suspend(() => {
    const reader = readEvents(api.events, task)
    let error: unknown
    const end = (failure?: RequestFailed): Effect.Effect<Reading, RequestFailed> => {
      const reading = reader.reading()
      if (error && !reading.answer) return failureOf(error, reading)
      if (reading.isDone) return Effect.succeed(reading)
      if (reading.answer) return Effect.succeed({ failure: failure?.message ?? broken, ...reading })
      return failure ?? new RequestFailed({ message: broken, isBroken: true })
    }
    const take = (event: unknown) => {
      error ||= errorIn(event)
      reader.take(event)
    }
    return Effect.matchEffect(
      readStream(request, ({ data }) => take(data)),
      { onFailure: end, onSuccess: () => end() }
    )
  })
  return Effect.matchEffect(patiently(task, isPassing, attempt), {
    onFailure: (failure): Effect.Effect<LeaderAnswer, LeaderError | SessionLost> => {
      if (schema !== undefined && refusesSchema(failure)) {
        const prompt = { ...task.prompt, prompt: task.prompt.prompt + inWords(schema) }
        return ask(options, { ...task, prompt }, session, undefined)
      }
      return session !== undefined && isLost(failure) ? new SessionLost() : failed(failure)
    },
    onSuccess: (reading) => conclude(reading, "The model gave no answer")
  })
}

/** Each of its runs is one turn. */
const endpoint = (options: OpenaiOptions, bounds: Bounds): Agent => ({
  title: options.model,
  takesSchema: isPlain,
  answer: (task) =>
    takingOnly(["model", "max_turns"], task, () => {
      const { model = options.model } = task.prompt.agent ?? {}
      const fault = model === options.model ? undefined : modelFault(model, bounds)
      const { answer_schema } = task.prompt.agent ?? {}
      const schema = answer_schema && isPlain(answer_schema) ? answer_schema : undefined
      return fault === undefined
        ? inSession(anyId, task, (task, session) => ask({ ...options, model }, task, session, schema))
        : new LeaderError({ message: `The model was not asked: ${fault}` })
    })
})

/** Any model behind an OpenAI-compatible endpoint: https://platform.openai.com/docs/api-reference */
export const openai: Preset = {
  title: "an OpenAI-compatible endpoint",
  example,
  help: "Set OPENAI_API_KEY. For an endpoint other than OpenAI's, use --base-url.",
  agent: (words) =>
    Result.gen(function* () {
      const { bounds, options } = yield* readBounds(words)
      const { rest, values } = yield* readOptions(options, ["api", "base-url", "instructions", "model"])
      const { api = "responses", instructions, model } = values
      const url = yield* readHttpUrl("base-url", values["base-url"] ?? process.env.OPENAI_BASE_URL ?? openaiUrl)
      if (rest[0] !== undefined) return yield* Result.fail(`"${rest[0]}" is not an option`)
      if (model === undefined) return yield* Result.fail(`the model is missing; for example: ${example}`)
      if (!isApi(api)) return yield* Result.fail(`--api is ${Object.keys(apis).join(" or ")}; not "${api}"`)
      return endpoint({ url, model, api, ...(instructions !== undefined && { instructions }) }, bounds)
    })
}
