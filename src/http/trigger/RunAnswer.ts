/** The response to a request that starts a run: a trigger, a run from the web UI or a message to a team. */
import { Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
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
import type { RunId, WebhookId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import { reportOf, type ShownReport } from "../../domain/run/AgentReport.ts"
import { type Run, type RunError, stepForOthers } from "../../domain/run/Run.ts"
import { type Submitted, startedRunOf } from "../../domain/run/Submitted.ts"
import type { Offered, Undecided } from "../../engine/trigger/Offers.ts"
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
  readonly accepted: (id: RunId, others: Problems.OfOthers) => Response
  readonly success: (id: RunId, response: string, report: ShownReport & Problems.OfOthers) => Response
  readonly error: (id: RunId, error: RunError, report: ShownReport & Problems.OfOthers) => Response
}

const run: Format = {
  accepted: (id, others) => json<typeof Accepted.Type>(202, { ...bodies.accepted(id), ...others }),
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
const timedOut = (request: Request, run: Run, others: Problems.OfOthers): Response =>
  isOfPage(request)
    ? json<typeof TimedOutInPage.Encoded>(504, { ...bodies.timeout(run), ...others })
    : json<typeof TimedOut.Encoded>(408, { ...bodies.timeout(run), ...others })

const write = (request: Request, format: Format, submitted: Submitted, others: Problems.OfOthers): Response => {
  if (submitted._tag === "Ignored") {
    const { cancelled, reason, run_id } = submitted
    if (cancelled !== undefined) {
      return json<typeof Cancelled.Type>(200, { status: "cancelled", run_ids: cancelled, ...others })
    }
    return json<typeof Ignored.Type>(200, {
      status: "ignored",
      ...(reason !== undefined && { reason }),
      ...(run_id !== undefined && { run_id }),
      ...others
    })
  }
  if (submitted._tag === "Accepted") return format.accepted(submitted.run_id, others)
  const { run_id, status, conversation, error } = submitted.run
  switch (status) {
    case "success":
      return format.success(run_id, conversation.response ?? "", { ...reportOf(submitted.run), ...others })
    case "error":
      return format.error(run_id, error!, { ...reportOf(submitted.run), ...others })
    case "timeout":
      return timedOut(request, submitted.run, others)
    case "cancelled":
      return Problems.toResponse({ ...bodies.cancelled(run_id), ...others })
    // Not the end of a run. If it happened anyway, this answer would be true.
    case "queued":
    case "running":
      return format.accepted(run_id, others)
  }
}

/**
 * The part of a URL's answer about the webhooks that share it; the rest stays the same. `own`: the run of the URL's own
 * webhook. They have no names and reasons here: the sender's team need not be theirs.
 */
export const ofOthers = (
  own: { readonly webhook_id: WebhookId; readonly run_id: RunId } | undefined,
  offered: ReadonlyArray<Offered | Undecided>
): Problems.OfOthers => {
  const runs: Array<{ readonly webhook_id: WebhookId; readonly run_id: RunId }> = own === undefined ? [] : [own]
  const cancelled: Array<RunId> = []
  let isCancelled = false
  const refused: Array<NonNullable<Problems.OfOthers["refused"]>[number]> = []
  const pending: Array<WebhookId> = []
  for (const of of offered) {
    const { result, webhook } = of
    if (result === undefined) pending.push(webhook.id)
    else if (Result.isFailure(result)) {
      const { code } = Problems.bodyOf(result.failure)
      refused.push({ webhook_id: webhook.id, code, ...(of.again_until && { retried: true }) })
    } else {
      const run_id = startedRunOf(result.success)
      if (run_id !== undefined) runs.push({ webhook_id: webhook.id, run_id })
      else if (result.success._tag === "Ignored" && result.success.cancelled) {
        isCancelled = true
        cancelled.push(...result.success.cancelled)
      }
    }
  }
  return {
    ...(runs.length > 0 && { runs }),
    ...(isCancelled && { cancelled }),
    ...(refused.length > 0 && { refused }),
    ...(pending.length > 0 && { pending })
  }
}

const answer =
  (format: Format) =>
  (request: Request, submitted: Submitted, others: Problems.OfOthers = {}): Response => {
    const run_id = startedRunOf(submitted) ?? others.runs?.[0]?.run_id
    if (run_id !== undefined) RequestFacts.add(request, { run_id })
    return write(request, format, submitted, others)
  }

/** 202; for a caller that waited 200, 408 (504 for a page in a browser), 409 or 502. */
export const ofRun = answer(run)

/** The same with `message_id` instead of `run_id`. A failed message is a problem. */
export const ofMessage = answer(message)
