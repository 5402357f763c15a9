/** The caller's own view of a run, at `Location`: showing, following and cancelling it. */
import { DateTime, Effect, Redacted, Schema, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { CallersRun } from "../../api/run/RunAnswers.ts"
import { MethodNotAllowed, NotVerified } from "../../domain/Errors.ts"
import * as Json from "../../domain/Json.ts"
import { runIdOf } from "../../domain/ParsedId.ts"
import { reportOf } from "../../domain/run/AgentReport.ts"
import { type Run, stepForOthers } from "../../domain/run/Run.ts"
import { Origin } from "../../engine/access/Audit.ts"
import { Cancellation } from "../../engine/manage/Cancellation.ts"
import { Trigger } from "../../engine/trigger/Trigger.ts"
import type { Evidence } from "../../engine/verify/RequestLookup.ts"
import { TokenKeys } from "../../engine/verify/TokenKeys.ts"
import { bearerOf } from "../access/Bearer.ts"
import { RunEvents } from "../events/RunEvents.ts"
import * as Parameters from "../request/Parameters.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import type { Answer } from "./Answer.ts"
import * as CallerCheck from "./CallerCheck.ts"
import * as RequestRecord from "./RequestRecord.ts"

type Request = HttpServerRequest.HttpServerRequest

const encodeRun = Schema.encodeSync(CallersRun)

const callersRun = (run: Run): CallersRun => {
  const { run_id, status, started_at, finished_at, duration_ms, conversation, error, last_step, retry_at, retried_by } =
    run
  const { response } = conversation
  const step = stepForOthers(last_step)
  return {
    run_id,
    status,
    ...(started_at !== undefined && { started_at }),
    ...(finished_at !== undefined && { finished_at }),
    ...(duration_ms !== undefined && { duration_ms }),
    ...(response !== undefined && { response }),
    ...(error !== undefined && { error }),
    ...(step !== undefined && { last_step: step }),
    ...reportOf(run),
    ...(retry_at !== undefined && { retry_at }),
    ...(retried_by !== undefined && { retried_by })
  }
}

const answerWith = (run: Run) =>
  HttpServerResponse.text(Json.stringify(encodeRun(callersRun(run))), { contentType: "application/json" })

/** These requests have no body, so a signature covers an empty one. */
const noBody = new Uint8Array()

export const make = Effect.gen(function* () {
  const trigger = yield* Trigger
  const cancellation = yield* Cancellation
  const record = yield* RequestRecord.make
  const callers = yield* CallerCheck.CallerCheck
  const tokens = yield* TokenKeys
  const runEvents = yield* RunEvents

  /** The current webhook, if the caller may use it. */
  const authenticate = Effect.fnUntraced(function* (request: Request, inPath: string | undefined) {
    const webhook = yield* trigger.authenticate(Redacted.make(inPath ?? bearerOf(request) ?? ""))
    RequestFacts.add(request, { webhook_id: webhook.id })
    const now = yield* DateTime.now
    const check = (evidence?: Evidence) => callers.check(request, webhook, now.epochMilliseconds, noBody, evidence)
    const first = check()
    const checked = first._tag === "NeedsToken" ? check(yield* tokens.check(first)) : first
    if (CallerCheck.isRefusal(checked)) {
      // A signature of Amazon SNS is in the body, which these requests do not have.
      const refusal = CallerCheck.isNeeds(checked) ? new NotVerified({ why: "missing" }) : checked
      yield* CallerCheck.report(webhook, refusal)
      return yield* refusal
    }
    record.token(request, webhook)
    return webhook
  })

  const show = Effect.fnUntraced(function* (request: Request, inPath: string | undefined, run_id = "") {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return yield* new MethodNotAllowed({ allow: "GET, HEAD" })
    }
    const webhook = yield* authenticate(request, inPath)
    const id = yield* runIdOf(run_id)
    const wait = yield* Effect.fromResult(Parameters.wait(request))
    const run = yield* trigger.run(webhook, id, { wait })
    RequestFacts.add(request, { run_id: run.run_id })
    return answerWith(run)
  }) satisfies (...args: ReadonlyArray<any>) => Answer<"run">

  const events = Effect.fnUntraced(function* (request: Request, inPath: string | undefined, run_id = "") {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return yield* new MethodNotAllowed({ allow: "GET, HEAD" })
    }
    const webhook = yield* authenticate(request, inPath)
    const id = yield* runIdOf(run_id)
    RequestFacts.add(request, { run_id: id })
    const follow = (received: number) => trigger.follow(webhook, id, { received })
    return yield* runEvents.answer(request, { of: "webhook", id: webhook.id }, follow)
  }) satisfies (...args: ReadonlyArray<any>) => Answer<"events", Scope.Scope>

  const cancel = Effect.fnUntraced(function* (request: Request, inPath: string | undefined, run_id = "") {
    if (request.method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
    const webhook = yield* authenticate(request, inPath)
    const id = yield* runIdOf(run_id)
    yield* trigger.run(webhook, id, { wait: false })
    RequestFacts.add(request, { run_id: id })
    return answerWith(yield* Effect.provideService(cancellation.cancel(id), Origin, { actor: "unknown" }))
  }) satisfies (...args: ReadonlyArray<any>) => Answer<"cancel">

  return { show, events, cancel }
})
