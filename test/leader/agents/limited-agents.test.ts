/** Usage limits as the programs and endpoints report them, in events like those that were recorded. */
import { describe, expect } from "@effect/vitest"
import { DateTime, Effect, Result } from "effect"
import type { AgentName } from "../../../src/domain/AgentName.ts"
import { presets } from "../../../src/leader/index.ts"
import { endpoint, refuse, sendEvents } from "./Endpoint.ts"
import { behaviour, leading, onBusOfItsOwn } from "./Leading.ts"
import { preset, print, programNames, recorded, sessions } from "./Programs.ts"

const resetsAt = 1_900_000_000
const until = DateTime.makeUnsafe(resetsAt * 1_000)

/** A script that prints these events, and fails. */
const printing = (name: AgentName, events: ReadonlyArray<object>, end = "exit 1") => {
  const lines = events.map((event) => JSON.stringify(event)).join("\n")
  return `${name === "claude" ? "head -n 1" : "cat"} > input; cat <<'END'\n${lines}\nEND\n${end}`
}

const session_id = sessions.claude[0]
const rateLimit = (status: string, more: object = { resetsAt, rateLimitType: "five_hour" }) => ({
  ...{ type: "rate_limit_event", session_id },
  rate_limit_info: { status, overageStatus: "rejected", isUsingOverage: false, ...more }
})
const claudeResult = (result: string, more: object = { is_error: true, api_error_status: 429 }) => ({
  ...{ type: "result", subtype: "success", session_id, result, num_turns: 1, total_cost_usd: 0 },
  ...more
})

/** An hour that is not one of a little while ago, which would say nothing of the limit's end. */
const later = new Date(Date.now() + 3 * 3_600_000).toLocaleTimeString("en-US", {
  hour: "numeric",
  timeZone: "Asia/Shanghai"
})
const hitLimit = `You've hit your limit · resets ${later.replace(/\s/, "").toLowerCase()} (Asia/Shanghai)`

/** Each with what the limit says of its end: a time, that there is one, or none. */
const limits: Readonly<
  Record<string, readonly [AgentName, ReadonlyArray<object>, DateTime.Utc | "known" | "unknown"]>
> = {
  "Claude Code, by its event": ["claude", [rateLimit("rejected"), claudeResult(hitLimit)], until],
  "Claude Code, by its text": ["claude", [claudeResult(hitLimit, { is_error: true })], "known"],
  "Claude Code, by an event without a time, and its text": [
    "claude",
    [rateLimit("rejected", {}), claudeResult(hitLimit)],
    "known"
  ],
  "Claude Code, by its status": ["claude", [claudeResult("API Error: not your usage limit")], "unknown"],
  "Claude Code, which ends without a result": ["claude", [rateLimit("rejected")], until],
  "Claude Code, of an older version": [
    "claude",
    [claudeResult(`Claude AI usage limit reached|${resetsAt}`, { is_error: true })],
    until
  ],
  Codex: [
    "codex",
    [
      { type: "thread.started", thread_id: sessions.codex[0] },
      { type: "turn.started" },
      { type: "error", message: "You've hit your usage limit. Try again in 3 hours 12 minutes." },
      { type: "turn.failed", error: { message: "You've hit your usage limit. Try again in 3 hours 12 minutes." } }
    ],
    "known"
  ],
  "Codex, by an error of the API": [
    "codex",
    [
      {
        type: "turn.failed",
        error: {
          message: JSON.stringify({ error: { type: "usage_limit_reached", message: "Limit", resets_at: resetsAt } })
        }
      }
    ],
    until
  ],
  "Gemini CLI": [
    "gemini",
    [
      { type: "init", session_id: sessions.gemini[0] },
      {
        type: "result",
        status: "error",
        error: {
          type: "TerminalQuotaError",
          message: "[API Error: You have exhausted your capacity on this model. Your quota will reset after 5h12m3s.]"
        }
      }
    ],
    "known"
  ],
  OpenCode: [
    "opencode",
    [
      {
        type: "error",
        sessionID: sessions.opencode[0],
        error: {
          name: "APIError",
          data: {
            message: "Too many requests",
            statusCode: 429,
            isRetryable: true,
            responseHeaders: { "retry-after": "3600" },
            responseBody: JSON.stringify({ error: { type: "rate_limit_error", message: "Too many requests" } })
          }
        }
      }
    ],
    "known"
  ]
}

const limitOf = (reply: unknown) => (reply as { readonly limited?: { readonly until?: DateTime.Utc } }).limited

describe("a usage limit", () => {
  for (const [title, [name, events, end]] of Object.entries(limits)) {
    behaviour(
      `of ${title}`,
      Effect.gen(function* () {
        const { send } = yield* preset(name, printing(name, events))
        const reply = yield* send("Do it.")
        expect(reply._tag).toBe("Failed")
        const limit = limitOf(reply)
        if (end === "unknown") expect(limit).toEqual({})
        else if (end === "known") expect(limit!.until!.epochMilliseconds).toBeGreaterThan(Date.now())
        else expect(limit).toEqual({ until: end })
      })
    )
  }

  behaviour(
    "is read from the errors of a program that ends without an event, and not from its last message",
    Effect.gen(function* () {
      const { send } = yield* preset(
        "gemini",
        "echo 'TerminalQuotaError: You have exhausted your daily quota on this model.' >&2; exit 1"
      )
      expect(limitOf(yield* send("Do it."))).toEqual({})
      const talking = yield* onBusOfItsOwn(
        preset(
          "codex",
          printing("codex", [{ type: "item.completed", item: { type: "agent_message", text: hitLimit } }])
        )
      )
      const reply = yield* talking.send("Do it.")
      expect(reply).toMatchObject({ _tag: "Failed", message: expect.stringContaining(hitLimit) })
      expect(reply).not.toHaveProperty("limited")
    })
  )

  behaviour(
    "is no limit while the agent may go on: a warning, an answer after it, or an answer about it",
    Effect.gen(function* () {
      const answers = [
        [rateLimit("allowed"), rateLimit("allowed_warning"), claudeResult("Done.", { is_error: false })],
        [rateLimit("rejected"), claudeResult("Done.", { is_error: false })],
        [claudeResult(hitLimit, { is_error: false })]
      ]
      for (const events of answers) {
        const { send } = yield* onBusOfItsOwn(preset("claude", printing("claude", events, "exit 0")))
        expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered" })
      }
      const over = [rateLimit("rejected"), rateLimit("allowed"), claudeResult("It broke", { is_error: true })]
      const { send } = yield* onBusOfItsOwn(preset("claude", printing("claude", over)))
      const reply = yield* send("Do it.")
      expect(reply).toMatchObject({ _tag: "Failed", message: "It broke" })
      expect(reply).not.toHaveProperty("limited")
    })
  )

  for (const name of programNames) {
    behaviour(
      `is not seen in another failure that was recorded: ${name}`,
      Effect.gen(function* () {
        const { send } = yield* preset(name, print(name, "failure"))
        const reply = yield* send("Do it.")
        expect(reply, recorded(name, "failure")).toMatchObject({ _tag: "Failed" })
        expect(reply).not.toHaveProperty("limited")
      })
    )
  }

  behaviour(
    "of an endpoint has its status, its `Retry-After` or its code",
    Effect.gen(function* () {
      const agentAt = (url: string) => Result.getOrThrow(presets.openai.agent(["--model", "m-1", "--base-url", url]))
      const quota = yield* endpoint((response) => refuse(response, 403, { code: "insufficient_quota", message: "No" }))
      const led = yield* onBusOfItsOwn(leading(agentAt(quota.url)))
      const reply = yield* led.send("Do it.")
      expect(reply).toMatchObject({ _tag: "Failed", message: "HTTP 403: No", limited: {} })
      const failing = { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "Wait" } } }
      const stream = yield* endpoint((response) => {
        sendEvents(response, failing)
        response.end()
      })
      const streaming = yield* onBusOfItsOwn(leading(agentAt(stream.url)))
      expect(yield* streaming.send("Do it.")).toMatchObject({ _tag: "Failed", message: "Wait", limited: {} })
    })
  )

  behaviour(
    "of a LangGraph server is one that it refuses with 429, or that its graph fails with",
    Effect.gen(function* () {
      const agentAt = (url: string) =>
        Result.getOrThrow(presets.langgraph.agent(["--url", url, "--assistant", "agent"]))
      const busy = yield* endpoint((response) => {
        response.setHeader("retry-after", "7200")
        refuse(response, 429, { message: "Slow down" })
      })
      const before = Date.now()
      const led = yield* onBusOfItsOwn(leading(agentAt(busy.url)))
      const end = limitOf(yield* led.send("Do it."))!.until!.epochMilliseconds
      expect(end - before).toBeGreaterThanOrEqual(7_200_000)
      expect(end - before).toBeLessThan(7_300_000)
      const graph = yield* endpoint((response, { path }) => {
        if (path === "/v1/threads") {
          response.end(JSON.stringify({ thread_id: "9f0c6c0e-8a5b-4c53-9a2e-0a1f4f1f4b11" }))
        } else {
          response.writeHead(200, { "content-type": "text/event-stream" })
          const data = {
            error: "RateLimitError",
            message: "Error code: 429 - {'error': {'code': 'insufficient_quota'}}"
          }
          response.end(`event: error\r\ndata: ${JSON.stringify(data)}\r\n\r\n`)
        }
      })
      const failing = yield* onBusOfItsOwn(leading(agentAt(graph.url)))
      expect(limitOf(yield* failing.send("Do it."))).toEqual({})
    })
  )
})
