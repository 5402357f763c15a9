/** Endpoints that are slow, busy, or say in their own way that an answer has ended. */
import type { ServerResponse } from "node:http"
import { describe, expect } from "@effect/vitest"
import { DateTime, Deferred, Effect, Result } from "effect"
import { Agent as Connections, getGlobalDispatcher, setGlobalDispatcher } from "undici"
import { presets } from "../../../src/leader/index.ts"
import { team } from "../../bus/contract/support.ts"
import { repeatUntil } from "../../support/Until.ts"
import { endpoint, refuse, sendEvents } from "./Endpoint.ts"
import { behaviour, impatient, leading, onBusOfItsOwn } from "./Leading.ts"

const completed = { type: "response.completed", response: { id: "resp_1" } }
const delta = (text: string) => ({ type: "response.output_text.delta", delta: text })

const openai = (url: string, ...options: ReadonlyArray<string>) =>
  leading(Result.getOrThrow(presets.openai.agent(["--model", "m-1", "--base-url", url, ...options])))

const answerYes = (response: ServerResponse) => {
  sendEvents(response, delta("yes"), completed)
  response.end()
}

/** Answers each request in its own way, and those that follow with "yes". */
const answering = (...answers: ReadonlyArray<(response: ServerResponse) => void>) => {
  let next = 0
  return endpoint((response) => (answers[next++] ?? answerYes)(response))
}

const refusing =
  (status: number, headers: Readonly<Record<string, string>> = {}, error: object = { message: "busy" }) =>
  (response: ServerResponse) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    refuse(response, status, error)
  }

const cutting =
  (...events: ReadonlyArray<object>) =>
  (response: ServerResponse) => {
    if (events.length > 0) sendEvents(response, ...events)
    response.socket!.destroy()
  }

const ending =
  (...events: ReadonlyArray<object>) =>
  (response: ServerResponse) => {
    sendEvents(response, ...events)
    response.end()
  }

/** Node's own limits, as short as they can be. */
const shortLimits = Effect.acquireRelease(
  Effect.sync(() => {
    const before = getGlobalDispatcher()
    setGlobalDispatcher(new Connections({ headersTimeout: 1, bodyTimeout: 1 }))
    return before
  }),
  (before) => Effect.sync(() => setGlobalDispatcher(before))
)

describe("a model that thinks for longer than Node waits", () => {
  for (const [where, begin] of [
    ["before it sends headers", () => {}],
    ["within its answer", (response: ServerResponse) => sendEvents(response, { type: "response.created" })]
  ] as const) {
    behaviour(
      `${where} is waited for`,
      Effect.gen(function* () {
        yield* shortLimits
        const thinking = yield* Deferred.make<ServerResponse>()
        const { url } = yield* endpoint((response, { path }) => {
          begin(response)
          if (path === "/v1/responses") Deferred.doneUnsafe(thinking, Effect.succeed(response))
        })
        const { end, publish } = yield* openai(url)
        yield* publish({ prompt: "Hello." })
        const response = yield* Deferred.await(thinking)
        // An ordinary request that began later has been given up.
        const ordinary = yield* Effect.promise(() =>
          fetch(`${url}/other`)
            .then((other) => other.text())
            .catch(({ cause }) => String(cause))
        )
        expect(ordinary).toMatch(/(Headers|Body) Timeout Error/)
        if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" })
        for (const event of [delta("yes"), completed]) response.write(`data: ${JSON.stringify(event)}\n\n`)
        response.end()
        expect(yield* end).toMatchObject({ _tag: "Answered", response: "yes" })
      })
    )
  }
})

/** Pieces of a chat, each with a reason for its end. */
const chat = (...pieces: ReadonlyArray<readonly [content: string, finish_reason: unknown]>) =>
  pieces.map(([content, finish_reason]) => ({ choices: [{ delta: { content }, finish_reason }] }))

describe("an answer of Chat Completions", () => {
  const ends: ReadonlyArray<readonly [name: string, ReadonlyArray<object>, isDone: boolean]> = [
    ["an empty reason in each piece", chat(["ye", ""], ["s", ""], ["", "stop"]), false],
    ["no reason until the end of the stream", chat(["ye", null], ["s", null]), true],
    ["an empty reason until the end of the stream", chat(["ye", ""], ["s", ""]), true],
    ...["stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "OTHER"].map(
      (reason) => [reason, chat(["ye", null], ["s", null], ["", reason]), false] as const
    )
  ]
  behaviour(
    "is whole, whatever its endpoint calls the end",
    Effect.gen(function* () {
      for (const [name, pieces, isDone] of ends) {
        const { url } = yield* endpoint((response) => {
          sendEvents(response, ...pieces)
          response.end(isDone ? "data: [DONE]\n\n" : "")
        })
        const reply = yield* Effect.scoped(
          Effect.flatMap(openai(url, "--api", "chat"), ({ send }) => send("Hello."))
        ).pipe(onBusOfItsOwn)
        expect(reply, name).toMatchObject({ _tag: "Answered", response: "yes" })
      }
    })
  )
  behaviour(
    "is not whole at a limit of its length, after a filter, or if the stream just ends",
    Effect.gen(function* () {
      for (const reason of [
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "model_length",
        "content_filter",
        "SAFETY",
        "tool_calls"
      ]) {
        const { received, url } = yield* endpoint((response) => ending(...chat(["half", null], ["", reason]))(response))
        const failed = yield* Effect.scoped(
          Effect.flatMap(openai(url, "--api", "chat"), ({ send }) => send("Hello."))
        ).pipe(onBusOfItsOwn)
        expect(failed).toMatchObject({ _tag: "Failed", message: `The model stopped: ${reason}` })
        expect(received).toHaveLength(1)
      }
      const { url } = yield* answering(ending(...chat(["half", null])))
      const { send } = yield* openai(url, "--api", "chat")
      expect(yield* send("Hello.")).toHaveProperty("message", "The connection ended before the answer was complete")
    })
  )
})

describe("a request that fails for now", () => {
  const failures: ReadonlyArray<readonly [name: string, failure: (response: ServerResponse) => void, shown: string]> = [
    ...[429, 500, 502, 503, 504, 529].map((status) => [`${status}`, refusing(status), `${status}`] as const),
    ["a broken connection", cutting(), "no answer"],
    ["a connection that breaks before the answer", cutting({ type: "response.created" }), "no answer"],
    ["a stream without an answer", ending({ type: "response.created" }), "no answer"],
    ["an error in the stream", ending({ error: { code: 502, message: "provider" } }), "502"],
    [
      "an answer that failed before its first word",
      ending({ type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "busy" } } }),
      "503"
    ]
  ]
  behaviour(
    "is repeated, and shown",
    Effect.gen(function* () {
      for (const [name, failure, reason] of failures) {
        const { received, url } = yield* answering(failure, failure)
        const slept: Array<number> = []
        yield* Effect.gen(function* () {
          const { send, shown } = yield* openai(url).pipe(impatient(slept))
          expect(yield* send("Hello."), name).toMatchObject({ _tag: "Answered", response: "yes" })
          expect(received).toHaveLength(3)
          const titles = shown.flatMap(({ steps = [] }) => steps.map(({ title }) => title))
          expect(titles).toEqual([`Retrying: ${reason} (1 of 4)`, `Retrying: ${reason} (2 of 4)`])
          const [first, second] = slept.filter((millis) => millis > 500)
          expect(first).toBeGreaterThanOrEqual(750)
          expect(second).toBeGreaterThanOrEqual(1_500)
        }).pipe(Effect.scoped, onBusOfItsOwn)
      }
    })
  )

  behaviour(
    "is repeated after the time that the server names, in seconds, milliseconds or as a date",
    Effect.gen(function* () {
      const date = new Date(Date.UTC(2026, 10, 28, 12))
      const inSeconds = (seconds: number) => new Date(date.getTime() + seconds * 1_000).toUTCString()
      for (const headers of [
        { "retry-after": "30" },
        { "retry-after": "1", "retry-after-ms": "30000" },
        // The server's clock may be wrong.
        { date: date.toUTCString(), "retry-after": inSeconds(30) }
      ]) {
        const { url } = yield* answering(refusing(429, headers))
        const slept: Array<number> = []
        const reply = yield* openai(url).pipe(
          impatient(slept),
          Effect.flatMap(({ send }) => send("Hello.")),
          Effect.scoped,
          onBusOfItsOwn
        )
        expect(reply).toMatchObject({ _tag: "Answered", response: "yes" })
        const waited = Math.max(...slept)
        expect(waited).toBeGreaterThanOrEqual(30_000)
        expect(waited).toBeLessThan(31_000)
      }
    })
  )

  behaviour(
    "fails in the end, with what the server said",
    Effect.gen(function* () {
      const { received, url } = yield* endpoint((response) => refusing(529)(response))
      const { send } = yield* openai(url).pipe(impatient())
      expect(yield* send("Hello.")).toMatchObject({ _tag: "Failed", message: "HTTP 529: busy" })
      expect(received).toHaveLength(5)
    })
  )

  behaviour(
    "is not repeated if that cannot help, would come too late, or after a part of the answer",
    Effect.gen(function* () {
      const quota = { code: "insufficient_quota", message: "used up" }
      const cases: ReadonlyArray<readonly [failure: (response: ServerResponse) => void, message: string]> = [
        [refusing(400), "HTTP 400: busy"],
        [refusing(401), "HTTP 401: busy"],
        [refusing(429, {}, quota), "HTTP 429: used up"],
        [refusing(429, { "retry-after": "3600" }), "HTTP 429: busy"],
        [refusing(429, { "retry-after": "50" }), "HTTP 429: busy"],
        [ending(delta("half"), { type: "error", code: "server_error", message: "broken" }), "broken"],
        [ending(delta("half")), "The connection ended before the answer was complete"],
        [ending({ error: { code: 400, message: "wrong" } }), "The model failed"]
      ]
      for (const [failure, message] of cases) {
        const { received, url } = yield* answering(failure)
        const deadline = DateTime.makeUnsafe(Date.now() + 45_000)
        const { send } = yield* openai(url).pipe(onBusOfItsOwn)
        expect(yield* send("Hello.", { deadline })).toMatchObject({ _tag: "Failed", message })
        expect(received).toHaveLength(1)
      }
    })
  )

  behaviour(
    "is given up when the run is cancelled",
    Effect.gen(function* () {
      const { received, url } = yield* answering(refusing(503, { "retry-after": "55" }))
      const { bus, end, publish, shown } = yield* openai(url)
      const { run_id } = yield* publish({ prompt: "Hello." })
      yield* repeatUntil(Effect.void, () => shown.length > 0)
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({ _tag: "Failed", message: "The run was cancelled." })
      expect(received).toHaveLength(1)
    })
  )
})
