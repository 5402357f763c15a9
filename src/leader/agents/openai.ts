import { Effect, Either } from "effect"
import { type LeaderAnswer, LeaderError } from "../Leader.ts"
import type { Agent, Preset, Task } from "./Agent.ts"
import { type RequestFailed, readStream } from "./Endpoint.ts"
import { readHttpUrl, readOptions } from "./Options.ts"
import { chat } from "./openai/Chat.ts"
import { responses } from "./openai/Responses.ts"
import { readEvents } from "./output/EventReader.ts"
import { conclude } from "./output/Reading.ts"
import { anyId, inSession, SessionLost } from "./Session.ts"

const example = "openai --model gpt-5"
const openaiUrl = "https://api.openai.com/v1"

interface OpenaiOptions {
  readonly url: string
  readonly model: string
  readonly api: keyof typeof apis
  readonly instructions?: string
}

interface Api {
  readonly path: string
  readonly events: typeof responses
  readonly body: (options: OpenaiOptions, prompt: string, session?: string) => object
}

const apis = {
  responses: {
    path: "/responses",
    events: responses,
    body: ({ instructions, model }, input, previous_response_id) => ({
      ...{ model, input, stream: true },
      ...(instructions !== undefined && { instructions }),
      ...(previous_response_id !== undefined && { previous_response_id })
    })
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
    })
  }
} satisfies Readonly<Record<string, Api>>

const isApi = (name: string): name is keyof typeof apis => Object.hasOwn(apis, name)

/** OpenAI says so with the code, others with the status. */
const isLost = ({ body = "", status }: RequestFailed): boolean =>
  status === 404 || (status === 400 && body.includes("previous_response"))

const ask = (
  options: OpenaiOptions,
  task: Task,
  session: string | undefined
): Effect.Effect<LeaderAnswer, LeaderError | SessionLost> => {
  const api: Api = apis[options.api]
  // A chat has no sessions.
  if (session !== undefined && options.api === "chat") return new SessionLost()
  const key = process.env.OPENAI_API_KEY
  const reader = readEvents(api.events, task)
  const request = {
    url: options.url + api.path,
    headers: key ? { authorization: `Bearer ${key}` } : {},
    body: api.body(options, task.prompt.prompt, session)
  }
  return Effect.matchEffect(
    Effect.suspend(() => readStream(request, ({ data }) => reader.take(data))),
    {
      onFailure: (failure): Effect.Effect<never, LeaderError | SessionLost> =>
        session !== undefined && isLost(failure) ? new SessionLost() : new LeaderError({ message: failure.message }),
      onSuccess: () => {
        const reading = reader.reading()
        const broken = "The connection ended before the answer was complete"
        return conclude(reading.isDone ? reading : { failure: broken, ...reading }, "The model gave no answer")
      }
    }
  )
}

const endpoint = (options: OpenaiOptions): Agent => ({
  title: options.model,
  answer: (task) => inSession(anyId, task, (session) => ask(options, task, session))
})

/** Any model behind an OpenAI-compatible endpoint: https://platform.openai.com/docs/api-reference */
export const openai: Preset = {
  title: "an OpenAI-compatible endpoint",
  example,
  help: "Set OPENAI_API_KEY. For an endpoint other than OpenAI's, use --base-url.",
  agent: (words) =>
    Either.gen(function* () {
      const { rest, values } = yield* readOptions(words, ["api", "base-url", "instructions", "model"])
      const { api = "responses", instructions, model } = values
      const url = yield* readHttpUrl("base-url", values["base-url"] ?? process.env.OPENAI_BASE_URL ?? openaiUrl)
      if (rest[0] !== undefined) return yield* Either.left(`"${rest[0]}" is not an option`)
      if (model === undefined) return yield* Either.left(`the model is missing; for example: ${example}`)
      if (!isApi(api)) return yield* Either.left(`--api is ${Object.keys(apis).join(" or ")}; not "${api}"`)
      return endpoint({ url, model, api, ...(instructions !== undefined && { instructions }) })
    })
}
