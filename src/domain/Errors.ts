/**
 * What can go wrong, in the domain's words. Each error says what its reader needs to act; which HTTP status it becomes
 * stands in one place, `http/request/Problems.ts`.
 */
import { Schema } from "effect"
import { RunId } from "./Id.ts"
import { allStatuses } from "./run/RunStatus.ts"
import { TeamName } from "./Team.ts"

/** Where in a request a fault lies: a JSON Pointer (RFC 6901) into its body, or a parameter's name. */
export const Fault = Schema.Struct({
  pointer: Schema.String.annotations({ description: "A JSON Pointer into the body, or a parameter's name." }),
  detail: Schema.String.annotations({ description: "What is wrong there." })
}).annotations({ identifier: "Fault", description: "One thing that is wrong with a request." })
export type Fault = typeof Fault.Type

/** How many faults of a request are listed. With long names, a list of all could grow far larger than the request. */
export const maxFaults = 20

/** No such webhook, run, team or page. Says nothing of why: an unknown and a disabled token look alike. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {}

export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: Schema.String
}) {}

export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {
  detail: Schema.String
}) {}

export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", { limit_bytes: Schema.Number }) {}

/** The body is not the JSON object it should be. */
export class InvalidBody extends Schema.TaggedError<InvalidBody>()("InvalidBody", { detail: Schema.String }) {}

/** An invalid parameter. */
export class InvalidParameter extends Schema.TaggedError<InvalidParameter>()("InvalidParameter", {
  name: Schema.String,
  detail: Schema.String
}) {}

export class InvalidVariables extends Schema.TaggedError<InvalidVariables>()("InvalidVariables", {
  faults: Schema.Array(Fault)
}) {}

/** The JSON is well formed and breaks a rule of the record; the first `maxFaults` are listed. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", { faults: Schema.Array(Fault) }) {}

/** `of`: whether they are missing among the variables, or in the request itself. */
export class MissingVariables extends Schema.TaggedError<MissingVariables>()("MissingVariables", {
  names: Schema.Array(Schema.String),
  of: Schema.optionalWith(Schema.Literal("variables", "payload"), { exact: true })
}) {}

/** The webhook's `accept_if` cannot be evaluated for the input. */
export class FilterFailed extends Schema.TaggedError<FilterFailed>()("FilterFailed", { detail: Schema.String }) {}

/** The input breaks the webhook's JSON Schema, or would take too long to check. */
export class SchemaMismatch extends Schema.TaggedError<SchemaMismatch>()("SchemaMismatch", {
  faults: Schema.Array(Fault)
}) {}

export class PromptTooLarge extends Schema.TaggedError<PromptTooLarge>()("PromptTooLarge", {
  limit_bytes: Schema.Number
}) {}

/** A template's braces do not pair; `offset` counts UTF-16 code units from 0. */
export class TemplateInvalid extends Schema.TaggedError<TemplateInvalid>()("TemplateInvalid", {
  offset: Schema.Number,
  line: Schema.Number,
  column: Schema.Number,
  reason: Schema.String
}) {}

/** A template cannot be filled in with this input; where in the template, both counted from 1. */
export class TemplateFailed extends Schema.TaggedError<TemplateFailed>()("TemplateFailed", {
  line: Schema.Number,
  column: Schema.Number,
  reason: Schema.String
}) {}

/** It was changed since the version that the request is meant for. */
export class ChangedMeanwhile extends Schema.TaggedError<ChangedMeanwhile>()("ChangedMeanwhile", {
  version: Schema.Int
}) {}

/**
 * Why a request is not verified. `address`: `allow_from` does not name its sender's. `missing`: it has no signature, secret,
 * time or id. `malformed`: what it has cannot be one. `expired`: it was sent too long ago, or in the future. `mismatch`: it is
 * not of this request and secret.
 */
export const VerificationCause = Schema.Literal("address", "missing", "malformed", "expired", "mismatch")
export type VerificationCause = typeof VerificationCause.Type

/** The caller could not be verified beyond its token. It does not learn why. */
export class NotVerified extends Schema.TaggedError<NotVerified>()("NotVerified", { why: VerificationCause }) {}

/** No leader is consuming the team's queue. */
export class TeamNotRunning extends Schema.TaggedError<TeamNotRunning>()("TeamNotRunning", { team: TeamName }) {}

export class TeamUnknown extends Schema.TaggedError<TeamUnknown>()("TeamUnknown", { team: TeamName }) {}
export class TeamExists extends Schema.TaggedError<TeamExists>()("TeamExists", { team: TeamName }) {}

/** Webhooks point at the team, or work for it is not finished. */
export class TeamInUse extends Schema.TaggedError<TeamInUse>()("TeamInUse", {
  team: TeamName,
  webhooks: Schema.Number,
  live_runs: Schema.Number
}) {}

/** As many runs wait as may: of all together (`server`), or of this webhook. */
export class TooManyQueued extends Schema.TaggedError<TooManyQueued>()("TooManyQueued", {
  of: Schema.Literal("server", "webhook"),
  limit: Schema.Number
}) {}

/** More triggers than the webhook's `rate`. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  rate: Schema.String,
  /** Until one is accepted again, at the least. */
  retry_after_ms: Schema.Number
}) {}

/** As many streams of events are open as may be, of one session or on this server. */
export class TooManyStreams extends Schema.TaggedError<TooManyStreams>()("TooManyStreams", {
  limit: Schema.Number,
  of: Schema.Literal("session", "server")
}) {}

/** The server is already writing as many exports as it may. */
export class TooManyExports extends Schema.TaggedError<TooManyExports>()("TooManyExports", { limit: Schema.Number }) {}

/** The run has ended, and not as it was asked for. */
export class RunEnded extends Schema.TaggedError<RunEnded>()("RunEnded", {
  run_id: RunId,
  status: Schema.Literal(...allStatuses)
}) {}

/** The webhook is disabled and starts no runs. */
export class WebhookDisabled extends Schema.TaggedError<WebhookDisabled>()("WebhookDisabled", {}) {}

/** The same `Idempotency-Key` came with another request before. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {}

/** Too many wrong admin keys came from the caller's address. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()("TooManyAttempts", {}) {}

export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { detail: Schema.String }) {}

/** Database or broker out of reach, or the server is stopping; the same request may work in a moment. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  what: Schema.Literal("database", "broker", "server"),
  detail: Schema.String,
  /** Set when it is certain that nothing was done: the request was never sent, or was refused. */
  not_done: Schema.optionalWith(Schema.Literal(true), { exact: true }),
  /** Set when the request's run was accepted before and goes on. */
  run_id: Schema.optionalWith(RunId, { exact: true })
}) {}
