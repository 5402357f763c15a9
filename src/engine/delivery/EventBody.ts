/** The body that a destination gets about a run or an alert: an event, or a message for people. */

import { DateTime, Effect, Result } from "effect"
import { type Alert, describeAlert } from "../../domain/alert/Alert.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import { maxResponse } from "../../domain/delivery/Destination.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import { PromptTooLarge, Unavailable } from "../../domain/Errors.ts"
import * as Json from "../../domain/Json.ts"
import { textOf } from "../../domain/prompt/FilledPart.ts"
import { reportOf } from "../../domain/run/AgentReport.ts"
import type { Run, Variables } from "../../domain/run/Run.ts"
import * as LiquidRenderer from "../prompt/LiquidRenderer.ts"
import * as ChainTemplate from "./ChainTemplate.ts"
import * as Message from "./Message.ts"
import { type RunSubject, type Subject, timeOf } from "./Message.ts"

/** A template's output in bytes. */
const maxBody = 1024 * 1024

const formatTime = (time: DateTime.Utc | undefined) => time && DateTime.formatIso(time)

const cut = (text: string | undefined) =>
  text === undefined || text.length <= maxResponse
    ? { response: text }
    : { response: text.slice(0, maxResponse), response_truncated: true, answer: undefined }

/** Without the answer, which may be long and confidential: the receiver can fetch it. */
const thin = (run: Run, webhook: RunSubject["webhook"]) => ({
  run_id: run.run_id,
  title: run.title,
  webhook: { id: webhook.id, name: webhook.name },
  team: run.team,
  status: run.status,
  replay_of: run.replay_of,
  retry_of: run.retry_of,
  chained_from: run.chained_from,
  attempt: run.attempt,
  retry_at: formatTime(run.retry_at),
  held_for: run.held_for,
  held_until: formatTime(run.held_until),
  asked_by: run.asked_by,
  workspace_ref: run.agent?.workspace_ref,
  cancelled_by: run.cancelled_by,
  superseded_by: run.superseded_by,
  accepted_at: formatTime(run.accepted_at),
  started_at: formatTime(run.started_at),
  finished_at: formatTime(run.finished_at),
  duration_ms: run.duration_ms
})

const full = (run: Run, webhook: RunSubject["webhook"]) => ({
  ...thin(run, webhook),
  variables: run.variables,
  ...reportOf(run),
  ...cut(run.conversation.response),
  error: run.error,
  last_step: run.last_step
})

/** The data of an event, and what templates read as `alert`. */
const ofAlert = (alert: Alert) => {
  const { condition, destination_id, id, name, rule_id, state, team, threshold, value, webhook_id } = alert
  return {
    alert_id: id,
    rule_id,
    condition,
    state,
    description: describeAlert(alert),
    ...(webhook_id !== undefined && { webhook: { id: webhook_id, name } }),
    team,
    destination_id,
    threshold,
    value,
    since: DateTime.formatIso(alert.since),
    resolved_at: alert.resolved_at && DateTime.formatIso(alert.resolved_at)
  }
}

/** The settings that decide what is sent. */
type Shape = Pick<DestinationRow, "body" | "id" | "kind" | "target" | "template" | "url">

interface Filled {
  readonly body: string
  /** In a line, as plain text. */
  readonly title: string
  /** Where it goes at the service; empty for kinds without a target. */
  readonly target: string
}

/** A template that cannot be filled in for this run. */
export interface Unfillable {
  readonly reason: string
  /** It may be filled in later: only the server was too busy. */
  readonly isPassing: boolean
}

export const make = Effect.map(LiquidRenderer.make(maxBody), (liquid) => {
  const filled = (text: string, what: string, { id }: Shape, subject: Subject) =>
    liquid.fill(text, scopeOf(subject), id).pipe(
      Effect.flatMap((parts) => Effect.fromResult(withinLimit(textOf(parts)))),
      Effect.mapError(
        (failure): Unfillable => ({
          reason: `the ${what} could not be filled in: ${reasonOf(failure)}`,
          isPassing: failure._tag === "Unavailable"
        })
      )
    )

  const targetOf = (destination: Shape, subject: Subject): Effect.Effect<string, Unfillable> => {
    const { kind, target = "" } = destination
    if (kind === "callback") return Effect.succeed(callbackOf(destination, subject))
    return target === "" || kindOf(kind).target?.isFixed
      ? Effect.succeed(target)
      : filled(target, "target", destination, subject)
  }

  const bodyOf = (destination: Shape, subject: Subject): Effect.Effect<string, Unfillable> => {
    const { body, kind, template = "" } = destination
    if (body === "template") {
      const fill = (text: string) => filled(text, "template", destination, subject)
      return kind === "chain"
        ? Effect.flatMap(ChainTemplate.fill(template, fill), (text) => Effect.fromResult(withinBody(text)))
        : fill(template)
    }
    switch (kindOf(kind).sends) {
      case "message":
        return Effect.succeed(Message.markdownOf(subject, body))
      case "run":
        return Effect.succeed(Json.stringify({ event: subject.event, ...dataOf(subject, body) }))
      default:
        return Effect.succeed(
          Json.stringify({
            type: subject.isTest === true ? "test" : subject.event,
            timestamp: formatTime(timeOf(subject)),
            data: dataOf(subject, body)
          })
        )
    }
  }

  return {
    /** The fault in a template, for the person who saves it. */
    faultOfTemplate: (template: string): Effect.Effect<string | undefined, Unavailable> =>
      liquid.names(template).pipe(
        Effect.as(undefined),
        Effect.catch((fault) =>
          fault instanceof Unavailable
            ? Effect.fail(fault)
            : Effect.succeed(`line ${fault.line}, column ${fault.column}: ${fault.reason}`)
        )
      ),
    /** The same at each attempt. A test has the type `test`; a template gets the event that it is a test of. */
    of: (destination: Shape, subject: Subject): Effect.Effect<Filled, Unfillable> =>
      Effect.all({
        target: targetOf(destination, subject),
        title: Effect.sync(() => Message.titleOf(subject)),
        body: bodyOf(destination, subject)
      })
  }
})

/** A test of a run without one is sent to where the allowed URLs begin. */
const callbackOf = ({ url }: Shape, subject: Subject): string =>
  ("run" in subject ? subject.run.callback_url : undefined) ?? url

const dataOf = (subject: Subject, body: "thin" | "full") => {
  if ("alert" in subject) return ofAlert(subject.alert)
  const { run, webhook } = subject
  return body === "full" ? full(run, webhook) : thin(run, webhook)
}

/** The values that templates can read. */
const scopeOf = (subject: Subject): Variables => {
  const { event } = subject
  if ("alert" in subject) return { event, alert: toJson(ofAlert(subject.alert)) }
  const { variables: values, ...rest } = full(subject.run, subject.webhook)
  return { event, run: toJson(rest), webhook: rest.webhook, values }
}

const withinBody = (text: string): Result.Result<string, Unfillable> =>
  Result.mapError(withinLimit(text), (failure) => ({
    reason: `the template could not be filled in: ${reasonOf(failure)}`,
    isPassing: false
  }))

const withinLimit = (text: string): Result.Result<string, PromptTooLarge> =>
  Buffer.byteLength(text) > maxBody ? Result.fail(new PromptTooLarge({ limit_bytes: maxBody })) : Result.succeed(text)

/** Plain JSON, as Liquid's templates read it. */
const toJson = (value: object): Variables => Json.parse(Json.stringify(value)) as Variables

const reasonOf = (failure: LiquidRenderer.FillRefused): string => {
  switch (failure._tag) {
    case "MissingVariables":
      return `no value for ${failure.names.join(", ")}`
    case "PromptTooLarge":
      return `it would have more than ${failure.limit_bytes} bytes`
    case "TemplateFailed":
      return `line ${failure.line}, column ${failure.column}: ${failure.reason}`
    case "Unavailable":
      return failure.detail
  }
}
