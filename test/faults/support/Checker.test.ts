/** Every fault test relies on the checker: it must find each broken promise. */
import { describe, expect, it } from "vitest"
import type { Call } from "./Callers.ts"
import { check, type Evidence, type Row } from "./Checker.ts"
import type { Delivered } from "./RecordingLeader.ts"

const webhook = { id: "w1", token: "t", team: "deploy" }
const call = (nonce: string, sentAt: number, more: Partial<Call> = {}): Call => ({
  nonce,
  target: webhook,
  mode: "async",
  sentAt,
  answeredAt: sentAt + 1,
  status: 202,
  body: { status: "accepted", run_id: `run-${nonce}` },
  ...more
})
const delivery = (nonce: string, at: number, more: Partial<Delivered> = {}): Delivered => ({
  run_id: `run-${nonce}`,
  correlation_id: `correlation-${nonce}`,
  prompt: nonce,
  team: "deploy",
  leader: "leader",
  redelivered: false,
  at,
  executed: true,
  ...more
})
const row = (nonce: string, from: number, to: number, more: Partial<Row> = {}): Row => ({
  id: `run-${nonce}`,
  webhook_id: "w1",
  team: "deploy",
  mode: "async",
  status: "success",
  prompt: nonce,
  response: `answer to ${nonce}`,
  error_code: null,
  accepted_at: new Date(from),
  admitted_at: new Date(from),
  sent_at: new Date(from),
  started_at: new Date(from),
  finished_at: new Date(to),
  released_at: null,
  deadline_at: null,
  ...more
})
const good: Evidence = {
  calls: [call("a", 0), call("b", 10)],
  deliveries: [delivery("a", 5), delivery("b", 15)],
  rows: [row("a", 1, 6), row("b", 11, 16)],
  limits: { global: 1 },
  refusalsLeaveNothing: true
}

/** The first run has ended as `timeout`, and was answered 189 ms before. */
const timedOut: Partial<Evidence> = {
  calls: [call("a", 0, { mode: "wait", status: 408, body: { status: "timeout", run_id: "run-a" } }), call("b", 10)],
  deliveries: [delivery("a", 5, { acknowledgedAt: 11 }), delivery("b", 15)],
  rows: [
    row("a", 1, 6, {
      mode: "wait",
      status: "timeout",
      response: null,
      finished_at: new Date(performance.timeOrigin + 200)
    }),
    row("b", 11, 16)
  ],
  limits: { global: 2 },
  answers: { withinMs: 150 }
}
/** The second run was delivered before the first, which was admitted by then. */
const overtaken: Partial<Evidence> = {
  deliveries: [delivery("b", 5), delivery("a", 15)],
  rows: [row("a", 1, 6, { admitted_at: new Date(performance.timeOrigin + 1) }), row("b", 11, 16)]
}

describe("the checker", () => {
  it("finds nothing when every promise was kept", () => {
    expect(check(good)).toEqual([])
  })

  it("knows the 408 of a request that came too slowly, which leaves no run", () => {
    const { body: _, ...tooSlow } = call("c", 20, { status: 408 })
    expect(check({ ...good, calls: [...good.calls, tooSlow] })).toEqual([])
  })

  const answered = (response: string) =>
    call("a", 0, { mode: "wait", status: 200, body: { status: "success", response, run_id: "run-a" } })
  it.each<[string, Partial<Evidence>]>([
    [
      "a run that never ended",
      { rows: [row("a", 1, 6, { status: "running", finished_at: null, response: null }), row("b", 11, 16)] }
    ],
    ["a success without a start", { rows: [row("a", 1, 6, { started_at: null }), row("b", 11, 16)] }],
    ["a start before the sending", { rows: [row("a", 1, 6, { sent_at: new Date(2) }), row("b", 11, 16)] }],
    ["an end before the start", { rows: [row("a", 1, 6, { started_at: new Date(7) }), row("b", 11, 16)] }],
    ["a 202 without a run", { rows: [row("b", 11, 16)] }],
    [
      "a 408 whose run succeeded",
      {
        calls: [
          call("a", 0, { mode: "wait", status: 408, body: { status: "timeout", run_id: "run-a" } }),
          call("b", 10)
        ]
      }
    ],
    [
      "the 408 of a request that came too slowly, and a run",
      { calls: [call("a", 0, { status: 408, body: undefined }), call("b", 10)] }
    ],
    ["another caller's answer", { calls: [answered("answer to b"), call("b", 10)] }],
    ["another caller's run", { calls: [call("a", 0, { body: { run_id: "run-b" } }), call("b", 10)] }],
    [
      "an answer that the history does not have",
      { rows: [row("a", 1, 6, { response: "answer to c" }), row("b", 11, 16)] }
    ],
    [
      "a refusal that left a run",
      { calls: [call("a", 0, { status: 503, body: { code: "unavailable" } }), call("b", 10)] }
    ],
    ["a later run delivered first", { deliveries: [delivery("b", 5), delivery("a", 15)] }],
    ["one run too many in flight", { rows: [row("a", 1, 12), row("b", 11, 16)] }],
    [
      "one run too many while the agent of an ended one still works",
      { rows: [row("a", 1, 6, { released_at: new Date(12) }), row("b", 11, 16)] }
    ],
    [
      "one of its webhook too many in flight",
      { rows: [row("a", 1, 12), row("b", 11, 16)], limits: { global: 2, webhooks: { w1: 1 } } }
    ],
    ["a run executed twice", { deliveries: [...good.deliveries, delivery("a", 20, { redelivered: true })] }],
    ["a prompt under two ids", { deliveries: [...good.deliveries, delivery("a", 20, { run_id: "run-x" })] }],
    ["two runs of a team at the same time", { overlaps: ["run-a"] }],
    ["a run that timed out after its answer", timedOut],
    [
      "one that a caller waited for, when the broker was away later",
      { ...timedOut, answers: { withinMs: 5, withheld: [{ from: 300, to: 400 }] } }
    ],
    [
      "a later run delivered first when another team's queue was purged",
      { ...overtaken, purges: [{ team: "other", from: 3, to: 4 }] }
    ],
    [
      "a later run delivered first that was not yet sent when its queue was purged",
      { ...overtaken, purges: [{ team: "deploy", from: -3, to: -2 }] }
    ]
  ])("finds %s", (_, change) => {
    expect(check({ ...good, ...change })).not.toEqual([])
  })

  it.each<[string, Partial<Evidence>]>([
    ["an answer that came shortly before the end", { ...timedOut, answers: { withinMs: 500 } }],
    [
      "an answer that the broker kept until its caller had gone",
      { ...timedOut, answers: { withinMs: 5, withheld: [{ from: 50, to: 150 }] } }
    ],
    [
      "a later run delivered before one that was purged",
      { ...overtaken, purges: [{ team: "deploy", from: 3, to: 4 }] }
    ],
    [
      "a second execution after a leader's crash",
      { deliveries: [delivery("a", 4, { brokenOff: true }), ...good.deliveries] }
    ]
  ])("excuses %s", (_, change) => {
    expect(check({ ...good, limits: { global: 2 }, ...change })).toEqual([])
  })

  it("lets a run reach its webhook's higher limit, and no other run exceed the global one", () => {
    const rows = [row("a", 1, 20), row("b", 2, 20), row("c", 3, 20, { webhook_id: "w2" })]
    const calls = ["a", "b", "c"].map((nonce, n) => call(nonce, n))
    const deliveries = ["a", "b", "c"].map((nonce, n) => delivery(nonce, 10 + n))
    const limits = { global: 2, webhooks: { w2: 3 } }
    expect(check({ rows, calls, deliveries, limits })).toEqual([])
    expect(
      check({ rows: [rows[0]!, rows[2]!, { ...rows[1]!, admitted_at: new Date(4) }], calls, deliveries, limits })
    ).toHaveLength(1)
  })
})
