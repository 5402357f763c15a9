/** Compares callers' answers, leaders' deliveries, and the history: the promises must be kept, whatever broke. */
import { isFinal, type RunStatus } from "../../../src/domain/run/RunStatus.ts"
import { answerTo } from "./Answers.ts"
import type { Call } from "./Callers.ts"
import type { Delivered } from "./RecordingLeader.ts"

/** A run's row, as the history has it. */
export interface Row {
  readonly id: string
  readonly webhook_id: string | null
  readonly team: string
  readonly mode: "async" | "wait"
  readonly status: RunStatus
  readonly prompt: string
  readonly response: string | null
  readonly error_code: string | null
  readonly accepted_at: Date
  readonly admitted_at: Date | null
  readonly sent_at: Date | null
  readonly started_at: Date | null
  readonly finished_at: Date | null
  /** Of a run that ended before its leader was done: when it no longer held its slots. */
  readonly released_at: Date | null
  /** The last one; of a run without a waiting caller it moves. */
  readonly deadline_at: Date | null
}

/** In milliseconds, from `performance.now()`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A team's queue was purged. */
export interface Purge extends Span {
  readonly team: string
}

export interface Evidence {
  readonly calls: ReadonlyArray<Call>
  readonly deliveries: ReadonlyArray<Delivered>
  readonly rows: ReadonlyArray<Row>
  /** Runs that a leader worked on while it worked on another of the same team. */
  readonly overlaps?: ReadonlyArray<string>
  readonly limits?: {
    readonly global: number
    /** By webhook id. */
    readonly webhooks?: Readonly<Record<string, number>>
  }
  /** At least once: a leader forgets what it has answered. What a crash breaks off may be executed again in any case. */
  readonly executions?: "once" | "at least once"
  /**
   * A run whose answer the broker had confirmed so many milliseconds before its deadline did not end as `timeout`; unless a
   * caller waited for it at a time when the broker gave replies to no server.
   */
  readonly answers?: {
    readonly withinMs: number
    readonly withheld?: ReadonlyArray<Span>
    /** How much time there was for work between two moments. Default: all of it. */
    readonly between?: (from: number, to: number) => number
  }
  /** When a team's queue was purged: what was in it comes later than it should. */
  readonly purges?: ReadonlyArray<Purge>
  /** A refusal without a run id left no run. Cannot be promised when the database's connection breaks on a commit. */
  readonly refusalsLeaveNothing?: boolean
}

/** What each status of a trigger's answer says about the run; a 408 without a body: the request was too slow. */
const statusOf: Readonly<Record<number, RunStatus>> = { 200: "success", 408: "timeout", 502: "error" }

/** Every broken promise, in words; empty: all were kept. */
export const check = (evidence: Evidence): ReadonlyArray<string> => [
  ...everyRunHasOneEnd(evidence),
  ...timesAreInOrder(evidence),
  ...callersAndHistoryAgree(evidence),
  ...answersAreTheirOwn(evidence),
  ...orderHolds(evidence),
  ...limitsHold(evidence),
  ...executedOnce(evidence),
  ...answersCameInTime(evidence)
]

function* everyRunHasOneEnd({ rows }: Evidence): Generator<string> {
  const ids = new Set<string>()
  for (const row of rows) {
    if (ids.has(row.id)) yield `run ${row.id} is there twice`
    ids.add(row.id)
    if (!isFinal(row.status)) yield `run ${row.id} (${row.prompt}) never ended: ${row.status}`
    else if (row.finished_at === null) yield `run ${row.id} ended as ${row.status} and has no end time`
    if (row.status === "success" && row.response === null) yield `run ${row.id} succeeded without an answer`
    if (row.status === "error" && row.error_code === null) yield `run ${row.id} failed without a code`
  }
}

function* timesAreInOrder({ rows }: Evidence): Generator<string> {
  for (const { finished_at, id, sent_at, started_at, status } of rows) {
    if (status === "success" && (sent_at === null || started_at === null)) yield `run ${id} succeeded without a start`
    if (sent_at && started_at && sent_at > started_at) yield `run ${id} started before it was sent`
    if (started_at && finished_at && started_at > finished_at) yield `run ${id} ended before it started`
  }
}

function* callersAndHistoryAgree({ calls, rows, refusalsLeaveNothing }: Evidence): Generator<string> {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const prompts = new Set(rows.map((row) => row.prompt))
  for (const { nonce, status, body } of calls) {
    if (status === undefined) continue
    const row = byId.get(body?.run_id)
    if (status === 408 && body === undefined) {
      if (prompts.has(nonce)) yield `call ${nonce}: 408 as its request came too slowly, and a run is there`
      continue
    }
    if (status === 202 && row === undefined) yield `call ${nonce}: 202, and there is no run ${body?.run_id}`
    const expected = statusOf[status]
    if (expected !== undefined) {
      if (row === undefined) yield `call ${nonce}: ${status}, and there is no run ${body?.run_id}`
      else if (row.status !== expected) yield `call ${nonce}: ${status}, and the history says ${row.status} (${row.id})`
      else if (status === 200 && row.response !== body.response)
        yield `call ${nonce}: another answer than the history's`
    }
    if (row !== undefined && row.prompt !== nonce) yield `call ${nonce}: was given the run of ${row.prompt}`
    if (status >= 400 && body?.run_id === undefined && refusalsLeaveNothing && prompts.has(nonce)) {
      yield `call ${nonce}: refused with ${status} ${body?.code}, and a run is there`
    }
  }
}

function* answersAreTheirOwn({ calls, rows }: Evidence): Generator<string> {
  for (const { nonce, status, body } of calls) {
    if (status === 200 && body.response !== answerTo(nonce)) yield `call ${nonce}: got "${body.response}"`
  }
  for (const { id, prompt, response } of rows) {
    if (response !== null && response !== answerTo(prompt)) yield `run ${id} of ${prompt}: has "${response}"`
  }
}

/** If A's 202 came before B's request and both target one team, the leader gets A first, unless A was purged. */
function* orderHolds({ calls, deliveries, purges = [], rows }: Evidence): Generator<string> {
  const admittedAt = new Map(rows.map(({ admitted_at, prompt }) => [prompt, sinceOrigin(admitted_at)]))
  const wasPurged = ({ at, prompt, team }: Delivered) =>
    purges.some((purge) => purge.team === team && admittedAt.get(prompt)! <= purge.to && purge.from <= at)
  // Of repeats the first that was accepted: from then on the run has its place.
  const byNonce = new Map<string, Call>()
  for (const call of calls) if (byNonce.get(call.nonce)?.status !== 202) byNonce.set(call.nonce, call)
  const seen = new Set<string>()
  const latest = new Map<string, Call>()
  for (const delivery of [...deliveries].sort((a, b) => a.at - b.at)) {
    const { prompt, team } = delivery
    if (seen.has(prompt)) continue
    seen.add(prompt)
    const call = byNonce.get(prompt)
    if (call === undefined) continue
    const before = latest.get(team)
    const isLate = call.mode === "async" && call.status === 202 && call.answeredAt! < (before?.sentAt ?? 0)
    if (isLate && before !== undefined && !wasPurged(delivery)) {
      yield `order of ${team}: ${before.nonce} was sent after ${call.nonce} had its 202, and delivered before it`
    }
    if (before === undefined || call.sentAt > before.sentAt) latest.set(team, call)
  }
}

/** Rows hold their slots from admission until they are released, at their end or later, whichever server sent them. */
function* limitsHold({ rows, limits }: Evidence): Generator<string> {
  if (limits === undefined) return
  const { global, webhooks = {} } = limits
  const events = rows.flatMap((row) => {
    if (row.webhook_id === null || row.admitted_at === null || row.finished_at === null) return []
    const webhook = row.webhook_id
    const until = row.released_at ?? row.finished_at
    return [
      { at: row.admitted_at.getTime(), webhook, change: 1 },
      // A run that ended before it was marked as admitted held no slot.
      { at: Math.max(until.getTime(), row.admitted_at.getTime()), webhook, change: -1 }
    ]
  })
  const ceiling = (webhook: string) => Math.max(global, webhooks[webhook] ?? global)
  // Within one millisecond: ends first, and then in the only order that the limits allow.
  events.sort((a, b) => a.at - b.at || a.change - b.change || ceiling(a.webhook) - ceiling(b.webhook))
  let total = 0
  const inFlight = new Map<string, number>()
  let worst: string | undefined
  let over = 0
  for (const { at, webhook, change } of events) {
    total += change
    const own = (inFlight.get(webhook) ?? 0) + change
    inFlight.set(webhook, own)
    if (change < 0) continue
    const limit = webhooks[webhook] ?? global
    const beyond = Math.max(own - limit, total - ceiling(webhook))
    if (beyond > over) {
      over = beyond
      worst = `limits: ${total} in flight (global ${global}), ${own} of webhook ${webhook} (${limit}) at ${new Date(at).toISOString()}`
    }
  }
  if (worst !== undefined) yield worst
}

function* executedOnce({ deliveries, overlaps = [], executions = "once" }: Evidence): Generator<string> {
  for (const run of overlaps) yield `run ${run} was worked on while another run of its team was`
  const executed = new Map<string, number>()
  const ids = new Map<string, string>()
  for (const { brokenOff, executed: really, prompt, run_id } of deliveries) {
    if (ids.get(prompt) !== undefined && ids.get(prompt) !== run_id) yield `${prompt} came under two run ids`
    ids.set(prompt, run_id)
    if (really && !brokenOff) executed.set(run_id, (executed.get(run_id) ?? 0) + 1)
  }
  if (executions === "at least once") return
  for (const [run, times] of executed) if (times > 1) yield `run ${run} was executed ${times} times`
}

function* answersCameInTime({ answers, deliveries, rows }: Evidence): Generator<string> {
  if (answers === undefined) return
  const { between = (from: number, to: number) => to - from, withheld = [], withinMs } = answers
  const answeredAt = new Map<string, number>()
  for (const { acknowledgedAt, run_id } of deliveries) {
    if (acknowledgedAt !== undefined && !answeredAt.has(run_id)) answeredAt.set(run_id, acknowledgedAt)
  }
  for (const { deadline_at, finished_at, id, mode, prompt, status } of rows) {
    const from = answeredAt.get(id)
    const to = Math.min(sinceOrigin(finished_at), sinceOrigin(deadline_at))
    if (status !== "timeout" || from === undefined || between(from, to) <= withinMs) continue
    if (mode === "wait" && withheld.some((span) => span.from < to && from < span.to)) continue
    yield `run ${id} of ${prompt} (${mode}) timed out ${seconds(to - from)} s after its answer, at ${finished_at!.toISOString()}`
  }
}

/** A time of the database as `performance.now()` has it; infinite: never. */
const sinceOrigin = (at: Date | null): number => (at === null ? Infinity : at.getTime() - performance.timeOrigin)

const seconds = (ms: number): string => (ms / 1000).toFixed(1)
