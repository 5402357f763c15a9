/** The preset for OpenAI-compatible endpoints, with a small one on this machine. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Option, Result } from "effect"
import { presets } from "../../../src/leader/index.ts"
import { startFakeModel } from "../../agents/FakeModel.ts"
import { team } from "../../bus/contract/support.ts"
import { endpoint, environment, refuse, sendEvents } from "./Endpoint.ts"
import { behaviour, impatient, leading, threadId } from "./Leading.ts"

const fakeModel = Effect.acquireRelease(
  Effect.promise(() => startFakeModel()),
  (model) => Effect.promise(() => model.close())
)

const completed = (id: string) => ({ type: "response.completed", response: { id, model: "m-1" } })
const delta = (text: string) => ({ type: "response.output_text.delta", delta: text })

const openai = (url: string, ...options: ReadonlyArray<string>) =>
  leading(Result.getOrThrow(presets.openai.agent(["--model", "m-1", "--base-url", url, ...options])))

const inSession = (session_id: string) => ({ thread: { id: threadId, session_id } })

describe("an OpenAI-compatible endpoint", () => {
  behaviour(
    "is asked for the webhook's model if the operator allows it",
    Effect.gen(function* () {
      const { url } = yield* fakeModel
      const options = ["--models", "m-2", "--model", "m-1", "--base-url", url]
      const { send } = yield* leading(Result.getOrThrow(presets.openai.agent(options)))
      const chosen = yield* send("Do it.", { agent: { model: "m-2", max_turns: 1 } })
      expect(chosen).toMatchObject({ _tag: "Answered", report: { usage: { model: "m-2" } } })
      const refused = yield* send("Do it.", { agent: { model: "m-3" } })
      expect(refused).toHaveProperty(
        "message",
        expect.stringContaining('the model "m-3" is not allowed (allowed: m-2)')
      )
      expect(yield* send("Do it.", { agent: { max_cost: 1 } })).toMatchObject({ _tag: "Failed" })
    })
  )

  for (const api of ["responses", "chat"]) {
    behaviour(
      `answers with tokens and the model, and shows its text: ${api}`,
      Effect.gen(function* () {
        const { send, shown } = yield* openai((yield* fakeModel).url, "--api", api)
        expect(yield* send("Do it.")).toMatchObject({
          _tag: "Answered",
          response: "I did what you asked.",
          report: { usage: { input_tokens: 1200, cached_input_tokens: 200, output_tokens: 34, model: "m-1" } }
        })
        expect(shown).toEqual([{ text: "I did " }, { text: "what you " }, { text: "asked." }])
      })
    )

    behaviour(
      `that refuses a prompt is a failure: ${api}`,
      Effect.gen(function* () {
        const refusing = yield* openai((yield* fakeModel).url, "--api", api)
        expect(yield* refusing.send("[[refuse]]")).toMatchObject({
          _tag: "Failed",
          message: "HTTP 400: the model refused"
        })
      })
    )

    behaviour(
      `is aborted when the run is cancelled: ${api}`,
      Effect.gen(function* () {
        const [hanging, aborted] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const { url } = yield* endpoint((response) => {
          response.on("close", () => Deferred.doneUnsafe(aborted, Effect.void))
          sendEvents(response, { type: "response.created" })
          Deferred.doneUnsafe(hanging, Effect.void)
        })
        const { bus, end, publish } = yield* openai(url, "--api", api)
        const { run_id } = yield* publish({ prompt: "Hello." })
        yield* Deferred.await(hanging)
        yield* bus.cancel(team, run_id)
        expect(yield* end).toMatchObject({ _tag: "Failed", message: "The run was cancelled." })
        yield* Deferred.await(aborted)
      })
    )
  }

  behaviour(
    "gets the prompt, the instructions, and the key from the environment",
    Effect.gen(function* () {
      yield* environment("OPENAI_API_KEY", "sk-test")
      const { received, url } = yield* endpoint((response, { path }) => {
        if (path.endsWith("/responses")) sendEvents(response, delta("yes"), completed("resp_1"))
        else sendEvents(response, { choices: [{ delta: { content: "yes" }, finish_reason: "stop" }] })
        response.end()
      })
      for (const api of ["responses", "chat"]) {
        const led = yield* openai(url, "--api", api, "--instructions", "Be brief.").pipe(
          Effect.flatMap(({ send }) => send("--model $(prompt)")),
          Effect.scoped
        )
        expect(led).toMatchObject({ response: "yes" })
      }
      expect(received).toEqual([
        {
          path: "/v1/responses",
          headers: expect.objectContaining({ authorization: "Bearer sk-test" }),
          body: { model: "m-1", input: "--model $(prompt)", stream: true, instructions: "Be brief." }
        },
        {
          path: "/v1/chat/completions",
          headers: expect.objectContaining({ authorization: "Bearer sk-test" }),
          body: {
            ...{ model: "m-1", stream: true, stream_options: { include_usage: true } },
            messages: [
              { role: "system", content: "Be brief." },
              { role: "user", content: "--model $(prompt)" }
            ]
          }
        }
      ])
    })
  )

  behaviour(
    "continues a thread with the id of its last response, and begins anew if that is lost",
    Effect.gen(function* () {
      const { received, url } = yield* endpoint((response, { body }) => {
        if (body.previous_response_id === "resp_lost") {
          return refuse(response, 400, { message: "Not found.", code: "previous_response_not_found" })
        }
        sendEvents(response, delta("yes"), completed("resp_2"))
        response.end()
      })
      const { send } = yield* openai(url)
      const continued = yield* send("Go on.", inSession("resp_1"))
      expect(continued).toMatchObject({ response: "yes", report: { session_id: "resp_2" } })
      expect(continued).not.toHaveProperty("report.session_lost")
      expect(yield* send("Go on.", inSession("resp_lost"))).toMatchObject({
        response: "yes",
        report: { session_id: "resp_2", session_lost: true }
      })
      expect(received.map(({ body }) => body.previous_response_id)).toEqual(["resp_1", "resp_lost", undefined])
    })
  )

  behaviour(
    "gets the thread's earlier messages if it keeps none",
    Effect.gen(function* () {
      const { received, url } = yield* endpoint((response) => {
        sendEvents(response, { choices: [{ delta: { content: "yes" }, finish_reason: "stop" }] })
        response.end()
      })
      const { send } = yield* openai(url, "--api", "chat")
      const history = [{ prompt: "The word is heron.", response: "Noted." }]
      const reply = yield* send("Go on.", { thread: { id: threadId, history } })
      expect(reply).toMatchObject({ response: "yes", report: { history_given: true } })
      expect(received[0]!.body.messages).toEqual([
        { role: "user", content: expect.stringMatching(/^Earlier messages.*heron.*Noted.*Go on\.$/s) }
      ])
    })
  )

  behaviour(
    "has failed when its stream ends too early, says an error, or stops at a limit",
    Effect.gen(function* () {
      const incomplete = { id: "resp_1", incomplete_details: { reason: "max_output_tokens" } }
      const streams: { readonly [prompt: string]: ReadonlyArray<object> } = {
        cut: [delta("half")],
        error: [delta("half"), { type: "error", message: "out of memory" }],
        limit: [delta("half"), { type: "response.incomplete", response: incomplete }]
      }
      const { url } = yield* endpoint((response, { body }) => {
        sendEvents(response, ...streams[body.input as string]!)
        response.end()
      })
      const { send } = yield* openai(url)
      const messages = yield* Effect.forEach(Object.keys(streams), (prompt) => send(prompt))
      expect(messages).toMatchObject([
        { _tag: "Failed", message: "The connection ended before the answer was complete" },
        { _tag: "Failed", message: "out of memory" },
        { _tag: "Failed", message: "The model stopped: max_output_tokens" }
      ])
    })
  )

  behaviour(
    "that cannot be reached is a failure that says so",
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(endpoint(() => {}))
      const { send } = yield* openai(url).pipe(impatient())
      expect(yield* send("Hello.")).toMatchObject({
        _tag: "Failed",
        message: expect.stringMatching(/^The endpoint did not answer: .*ECONNREFUSED/)
      })
    })
  )

  it.each([
    [[], "the model is missing"],
    [["--model", "m", "--api", "completions"], 'not "completions"'],
    [["--model", "m", "--base-url", "file:///etc/passwd"], "needs an http or https URL"],
    [["--model", "m", "--key", "sk-1"], "--key is not an option"],
    [["--model", "m", "more"], '"more" is not an option']
  ])("refuses the options %j", (words, says) => {
    expect(Option.getOrThrow(Result.getFailure(presets.openai.agent(words)))).toContain(says)
  })
})
