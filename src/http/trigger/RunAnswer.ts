/** The response to a request that starts a run: a trigger, a run from the web UI or a message to a team. */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Either } from "effect"
import type { MessageAccepted, MessageAnswered } from "../../api/run/Messages.ts"
import type {
  Accepted,
  Answered,
  Cancelled,
  Failed,
  Ignored,
  TimedOut,
  TimedOutInPage
} from "../../api/run/RunAnswers.ts"
import type { RunId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import { reportOf, type ShownReport } from "../../domain/run/AgentReport.ts"
import { type Run, type RunError, stepForOthers } from "../../domain/run/Run.ts"
import type { Offered, Submitted } from "../../engine/accept/Trigger.ts"
import * as Problems from "../request/Problems.ts"
import * as RequestFacts from "../request/RequestFacts.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** Written as they are, unlike a handler's result: `Body` is the documented type. */
const json = <Body>(status: number, body: Body): Response =>
  HttpServerResponse.text(Json.stringify(body), { status, contentType: "application/json" })

/** The bodies of answers about a webhook's run; the events of a run have the same. */
export const bodies = {
  accepted: (run_id: RunId): typeof Accepted.Type => ({ status: "accepted", run_id }),
  success: (run_id: RunId, response: string, report: ShownReport): typeof Answered.Type => ({
    status: "success",
    response,
    run_id,
    ...report
  }),
  error: (run_id: RunId, error: RunError, report: ShownReport): typeof Failed.Encoded => ({
    status: "error",
    run_id,
    error,
    ...report
  }),
  timeout: ({ last_step, run_id }: Pick<Run, "last_step" | "run_id">): typeof TimedOut.Encoded => {
    const step = stepForOthers(last_step)
    return { ...{ status: "timeout", run_id }, ...(step !== undefined && { last_step: step }) }
  },
  cancelled: (run_id: RunId) =>
    Problems.problem(409, { code: "cancelled", detail: "It was cancelled while you waited for its answer.", run_id })
}

/** The differences between a webhook's run and a message. */
interface Format {
  readonly accepted: (id: RunId) => Response
  readonly success: (id: RunId, response: string, report: ShownReport) => Response
  readonly error: (id: RunId, error: RunError, report: ShownReport) => Response
}

const run: Format = {
  accepted: (id) => json<typeof Accepted.Type>(202, bodies.accepted(id)),
  success: (id, response, report) => json<typeof Answered.Type>(200, bodies.success(id, response, report)),
  error: (id, error, report) => json<typeof Failed.Encoded>(502, bodies.error(id, error, report))
}

const message: Format = {
  accepted: (message_id) => json<typeof MessageAccepted.Type>(202, { status: "accepted", message_id }),
  success: (message_id, response, report) =>
    json<typeof MessageAnswered.Type>(200, { status: "success", response, message_id, ...report }),
  error: (run_id, error, report) =>
    Problems.toResponse({
      ...Problems.problem(502, { code: "agent_failed", detail: error.message, run_id }),
      ...report
    })
}

/**
 * Whether a page in a browser sent the request. Over HTTPS, and to localhost, all of a browser's requests have
 * `Sec-Fetch-Site`; elsewhere each POST has at least `Origin`. Node's `fetch` sends neither, but `Sec-Fetch-Mode`.
 */
const isOfPage = ({ headers }: Request): boolean =>
  headers["sec-fetch-site"] !== undefined || headers.origin !== undefined

/** A browser resends a POST that is answered with 408, once for each open connection: each would start another run. */
const timedOut = (request: Request, run: Run): Response =>
  isOfPage(request)
    ? json<typeof TimedOutInPage.Encoded>(504, bodies.timeout(run))
    : json<typeof TimedOut.Encoded>(408, bodies.timeout(run))

const write = (request: Request, format: Format, submitted: Submitted): Response => {
  if (submitted._tag === "Ignored") {
    const { cancelled, reason, run_id } = submitted
    if (cancelled !== undefined) return json<typeof Cancelled.Type>(200, { status: "cancelled", run_ids: cancelled })
    return json<typeof Ignored.Type>(200, {
      status: "ignored",
      ...(reason !== undefined && { reason }),
      ...(run_id !== undefined && { run_id })
    })
  }
  if (submitted._tag === "Accepted") return format.accepted(submitted.run_id)
  const { run_id, status, conversation, error } = submitted.run
  switch (status) {
    case "success":
      return format.success(run_id, conversation.response ?? "", reportOf(submitted.run))
    case "error":
      return format.error(run_id, error!, reportOf(submitted.run))
    case "timeout":
      return timedOut(request, submitted.run)
    case "cancelled":
      return Problems.toResponse(bodies.cancelled(run_id))
    // Not the end of a run. If it happened anyway, this answer would be true.
    case "queued":
    case "running":
      return format.accepted(run_id)
  }
}

/** Requests that are refused for a state may be accepted later, unlike those that are refused for their content. */
const mayBeRepeated = ({ status }: Problems.Problem): boolean => status === 409 || status === 429 || status >= 500

const soon: ReadonlyArray<Problems.Problem["code"]> = [
  "unavailable",
  "rate_limited",
  "too_many_queued",
  "too_many_queued_of_webhook"
]

/**
 * The answer to a request that several webhooks were offered. Once one of them has acted on it, it is a refusal only if a
 * repeat helps soon, and starts no second run (`isKeyed`): services disable URLs that refuse for long.
 */
export const ofOffered = (
  request: Request,
  offered: ReadonlyArray<Offered>,
  { isKeyed }: { readonly isKeyed: boolean }
): Response => {
  const runs = offered.flatMap(({ result, webhook: { id: webhook_id } }) => {
    const run_id = Either.isRight(result) ? runIdOf(result.right) : undefined
    return run_id === undefined ? [] : [{ webhook_id, run_id }]
  })
  const ignored = offered.flatMap(({ result }) =>
    Either.isRight(result) && result.right._tag === "Ignored" ? [result.right] : []
  )
  const cancels = ignored.flatMap(({ cancelled }) => (cancelled === undefined ? [] : [cancelled]))
  const refusals = offered.flatMap(({ result, webhook: { id: webhook_id } }) =>
    Either.isLeft(result) ? [{ webhook_id, refusal: result.left, problem: Problems.bodyOf(result.left) }] : []
  )
  const refused = refusals.map(({ problem: { code, detail }, webhook_id }) => ({ webhook_id, code, detail }))
  const others = {
    ...(cancels.length > 0 && { cancelled: cancels.flat() }),
    ...(refused.length > 0 && { refused })
  }
  const [first] = runs
  if (first !== undefined) RequestFacts.add(request, { run_id: first.run_id })
  const passing = isKeyed ? refusals.find(({ problem }) => soon.includes(problem.code)) : undefined
  const answered =
    first === undefined && cancels.length === 0
      ? (refusals.find(({ problem }) => mayBeRepeated(problem)) ?? refusals[0])
      : passing
  if (answered !== undefined) {
    const { problem, refusal } = answered
    return HttpServerResponse.setHeaders(
      Problems.toResponse({ ...problem, ...(first !== undefined && { runs }), ...others }),
      Problems.ownHeadersOf(refusal)
    )
  }
  if (first !== undefined) {
    return json<typeof Accepted.Type>(202, { ...bodies.accepted(first.run_id), runs, ...others })
  }
  if (cancels.length > 0) {
    const { cancelled: run_ids = [], ...rest } = others
    return json<typeof Cancelled.Type>(200, { status: "cancelled", run_ids, ...rest })
  }
  return write(request, run, ignored.find(({ reason }) => reason !== undefined) ?? { _tag: "Ignored" })
}

const answer =
  (format: Format) =>
  (request: Request, submitted: Submitted): Response => {
    const run_id = runIdOf(submitted)
    if (run_id !== undefined) RequestFacts.add(request, { run_id })
    return write(request, format, submitted)
  }

/** The run that the response is about; `undefined`: none was started. */
export const runIdOf = (submitted: Submitted): RunId | undefined =>
  submitted._tag === "Ignored" ? undefined : submitted._tag === "Accepted" ? submitted.run_id : submitted.run.run_id

/** 202; for a caller that waited 200, 408 (504 for a page in a browser), 409 or 502. */
export const ofRun = answer(run)

/** The same with `message_id` instead of `run_id`. A failed message is a problem. */
export const ofMessage = answer(message)
