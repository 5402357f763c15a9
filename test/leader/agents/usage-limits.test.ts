/** Texts of the programs and services, as they and their users show them. */
import { describe, expect, it } from "@effect/vitest"
import { DateTime } from "effect"
import { limitedBy } from "../../../src/leader/agents/output/UsageLimits.ts"

/** A Wednesday, 11:00 in UTC. */
const now = Date.UTC(2026, 8, 9, 11)
const hours = (n: number) => n * 3_600_000

/** How long the limit lasts, in milliseconds; `null`: unknown; undefined: it is none. */
const lasts = (failure: unknown): number | null | undefined => {
  const { limited } = limitedBy(failure, now)
  if (limited === undefined) return undefined
  return limited.until === undefined ? null : DateTime.toEpochMillis(limited.until) - now
}
const at = (text: string): number => Date.parse(text) - now

describe("a usage limit", () => {
  it.each([
    // Claude Code
    ["You've hit your limit · resets 2pm (Asia/Shanghai)", at("2026-09-10T06:00Z")],
    ["You've hit your limit · resets 9pm (Asia/Shanghai)", at("2026-09-09T13:00Z")],
    ["You’ve hit your session limit · resets 12:10pm (UTC)", at("2026-09-09T12:10Z")],
    ["You've hit your session limit · resets 5:30am (Asia/Barnaul)", at("2026-09-09T22:30Z")],
    ["You've hit your weekly limit · resets Sep 15, 3am (Europe/Dublin)", at("2026-09-15T02:00Z")],
    ["You've hit your weekly limit · resets Jan 2, 9am (UTC)", at("2027-01-02T09:00Z")],
    ["You've hit your 5-hour limit · resets Sep 16 at 1am (Asia/Tokyo)", at("2026-09-15T16:00Z")],
    ["You've hit your org's monthly spend limit", null],
    ["Claude AI usage limit reached|1789000000", 1_789_000_000_000 - now],
    ["5-hour limit reached ∙ resets 2am (UTC)", at("2026-09-10T02:00Z")],
    ["You're out of extra usage · resets 4pm (UTC)", at("2026-09-09T16:00Z")],
    ["Credit balance is too low", null],
    [
      'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account\'s rate limit. Please try again later."}}',
      null
    ],
    ["API Error: Request rejected (429)", null],
    // Codex
    [
      "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro) or try again in 3 hours 12 minutes.",
      hours(3.2)
    ],
    [
      "You've hit your usage limit. To get more access now, send a request to your admin or try again in 3 days 6 hours 57 minutes.",
      hours(78.95)
    ],
    [
      "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Sep 18th, 2026 12:30 PM.",
      "local"
    ],
    ["You've hit your usage limit. Try again in less than a minute.", null],
    [
      {
        error: {
          type: "usage_limit_reached",
          message: "The usage limit has been reached",
          plan_type: "plus",
          resets_at: 1789000000
        }
      },
      1_789_000_000_000 - now
    ],
    [{ type: "usage_limit_reached", resets_in_seconds: 3600 }, hours(1)],
    [
      "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000. Please try again in 20.5s.",
      20_500
    ],
    ["exceeded retry limit, last status: 429 Too Many Requests, request id: abc", null],
    ["Quota exceeded. Check your plan and billing details.", null],
    // Gemini
    [
      "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: x, limit: 20\nPlease retry in 2h47m56.5s.",
      hours(2) + 47 * 60_000 + 56_500
    ],
    [
      "You have exhausted your capacity on this model. Your quota will reset after 5h12m3s.",
      hours(5) + 12 * 60_000 + 3_000
    ],
    ["TerminalQuotaError: You have exhausted your daily quota on this model.", null],
    [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "56s" }] } }, 56_000],
    [
      '{"error":{"message":"{\\n  \\"code\\": 429, \\"status\\": \\"RESOURCE_EXHAUSTED\\", \\"retryDelay\\": \\"34.07s\\"}"}}',
      34_070
    ],
    // OpenCode, and services
    [
      "weekly usage limit reached. It will reset in 5 days 10 hours. To continue using this model now, enable usage",
      hours(130)
    ],
    [
      {
        name: "APIError",
        data: { message: "Rate limit exceeded", statusCode: 429, responseHeaders: { "retry-after": "3600" } }
      },
      hours(1)
    ],
    [
      '429: {"type":"FreeUsageLimitError","message":"Error from provider (Console): Rate limit exceeded. Please try again later."}',
      null
    ],
    ["RateLimitError: Error code: 429 - {'error': {'code': 'insufficient_quota'}}", null],
    ["You've hit your usage limit. Usage will reset when your monthly cycle ends on 9/23/2026.", "local day"]
  ])("is recognised in %j", (failure, expected) => {
    const local = { local: new Date(2026, 8, 18, 12, 30), "local day": new Date(2026, 8, 23) }
    expect(lasts(failure)).toBe(typeof expected === "string" ? local[expected as "local"].getTime() - now : expected)
  })

  it("that ends at a time without a zone, ends at that time where the agent runs", () => {
    const local = new Date(now)
    const in2Hours = `${(local.getHours() + 2) % 12 || 12}${(local.getHours() + 2) % 24 < 12 ? "am" : "pm"}`
    const end = new Date(local.getFullYear(), local.getMonth(), local.getDate(), local.getHours() + 2)
    expect(lasts(`You've hit your limit · resets ${in2Hours}`)).toBe(end.getTime() - now)
  })

  it("whose time has just passed has no known end, rather than that of tomorrow", () => {
    expect(lasts("You've hit your limit · resets 10:45am (UTC)")).toBe(null)
    expect(lasts("You've hit your limit · resets 10am (UTC)")).toBe(hours(23))
  })

  it.each([
    "The agent was stopped at the limit of 3 turns per run (max_turns)",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The model stopped: max_output_tokens",
    "exit code 1: the file limit.ts was not found on line 429",
    "API Error: 529 Overloaded",
    "HTTP 500: Internal server error",
    "Reached maximum number of turns (3)",
    "The tests for the rate limit failed: expected 429 requests",
    "invalid x-api-key"
  ])("is not read into %j", (failure) => {
    expect(lasts(failure)).toBeUndefined()
  })
})
