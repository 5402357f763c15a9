/**
 * Errors in the domain's terms. Each contains what its reader needs to act. `http/request/Problems.ts` maps them to
 * statuses.
 */
import { Schema } from "effect"
import { RunId, WebhookId } from "./Id.ts"
import { allStatuses } from "./run/RunStatus.ts"
import { Int } from "./SchemaParts.ts"
import { TeamName } from "./Team.ts"

/** The location of a fault in a request: a JSON Pointer (RFC 6901) into its body, or a parameter's name. */
export const Fault = Schema.Struct({
  pointer: Schema.String.annotate({ description: "A JSON Pointer into the body, or a parameter's name." }),
  detail: Schema.String.annotate({ description: "What is wrong there." })
}).annotate({ identifier: "Fault", description: "One thing that is wrong with a request." })
export type Fault = typeof Fault.Type

/**
 * The maximum number of faults listed for a request. With long names, a complete list could be far larger than the
 * request.
 */
export const maxFaults = 20

/** No such webhook, run, team or page. Callers learn no reason: unknown and disabled tokens look alike. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  /** The webhook that the token would open if it were enabled. */
  disabled_webhook: Schema.optional(Schema.Struct({ id: WebhookId, team: TeamName }))
}) {}

export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: Schema.String
}) {}

/** The response has none of the media types in `Accept`. */
export class NotAcceptable extends Schema.TaggedError<NotAcceptable>()("NotAcceptable", {
  available: Schema.String
}) {}

export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {
  detail: Schema.String
}) {}

export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", {
  limit_bytes: Schema.Number,
  /** Set if the limit is no setting. */
  is_fixed: Schema.optionalKey(Schema.Literal(true)),
  /** The accepted size in words, if that is more than a number of bytes. */
  detail: Schema.optionalKey(Schema.String)
}) {}

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

/** Well-formed JSON that breaks a rule of the record. Lists the first `maxFaults` faults. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", { faults: Schema.Array(Fault) }) {}

/** `of`: missing among the variables, or in a whole request. */
export class MissingVariables extends Schema.TaggedError<MissingVariables>()("MissingVariables", {
  names: Schema.Array(Schema.String),
  of: Schema.optionalKey(Schema.Literals(["variables", "payload"]))
}) {}

/** A filter of the webhook, `accept_if` or `cancel_if`, cannot be evaluated for the input. */
export class FilterFailed extends Schema.TaggedError<FilterFailed>()("FilterFailed", { detail: Schema.String }) {}

/** The input breaks the webhook's JSON Schema, or would take too long to check. */
export class SchemaMismatch extends Schema.TaggedError<SchemaMismatch>()("SchemaMismatch", {
  faults: Schema.Array(Fault)
}) {}

export class PromptTooLarge extends Schema.TaggedError<PromptTooLarge>()("PromptTooLarge", {
  limit_bytes: Schema.Number
}) {}

/** A template's braces do not pair. `offset` counts UTF-16 code units from 0. */
export class TemplateInvalid extends Schema.TaggedError<TemplateInvalid>()("TemplateInvalid", {
  offset: Schema.Number,
  line: Schema.Number,
  column: Schema.Number,
  reason: Schema.String
}) {}

/** A template cannot be filled in with this input. `line` and `column` are counted from 1. */
export class TemplateFailed extends Schema.TaggedError<TemplateFailed>()("TemplateFailed", {
  line: Schema.Number,
  column: Schema.Number,
  reason: Schema.String
}) {}

/** The key of a run's thread, as its webhook's `thread_key` gives it, is too long. */
export class ThreadKeyTooLong extends Schema.TaggedError<ThreadKeyTooLong>()("ThreadKeyTooLong", {
  limit: Schema.Number
}) {}

/** Edit conflict: the webhook was changed after the version that the request is meant for. */
export class EditConflict extends Schema.TaggedError<EditConflict>()("EditConflict", {
  version: Int
}) {}

/**
 * Why a request is not verified.
 * - `address`: the sender's address is not in `allow_from`.
 * - `missing`: no signature, secret, time or ID.
 * - `malformed`: not a valid signature, secret, time or ID.
 * - `expired`: sent too long ago, or in the future.
 * - `mismatch`: the signature or secret does not belong to this request.
 */
export const VerificationCause = Schema.Literals(["address", "missing", "malformed", "expired", "mismatch"])
export type VerificationCause = typeof VerificationCause.Type

/** The caller could not be verified beyond its token. It does not learn the reason. */
export class NotVerified extends Schema.TaggedError<NotVerified>()("NotVerified", { why: VerificationCause }) {}

/** No leader is consuming the team's queue. */
export class TeamNotRunning extends Schema.TaggedError<TeamNotRunning>()("TeamNotRunning", { team: TeamName }) {}

export class TeamUnknown extends Schema.TaggedError<TeamUnknown>()("TeamUnknown", { team: TeamName }) {}
export class TeamExists extends Schema.TaggedError<TeamExists>()("TeamExists", { team: TeamName }) {}

/** Webhooks use the team, or it has unfinished work. */
export class TeamInUse extends Schema.TaggedError<TeamInUse>()("TeamInUse", {
  team: TeamName,
  webhooks: Schema.Number,
  live_runs: Schema.Number
}) {}

/** Webhooks share its URL, or it has none of its own. */
export class UrlShared extends Schema.TaggedError<UrlShared>()("UrlShared", { detail: Schema.String }) {}

/** The queue is full: the server's, or this webhook's. */
export class TooManyQueued extends Schema.TaggedError<TooManyQueued>()("TooManyQueued", {
  of: Schema.Literals(["server", "webhook"]),
  limit: Schema.Number
}) {}

/** More triggers than the webhook's `rate`. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  rate: Schema.String,
  /** Seconds until the next trigger can be accepted, at least. */
  retry_after_ms: Schema.Number
}) {}

/** The webhook's budget of the day is used up: its runs, or their cost in US dollars. */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>()("BudgetExceeded", {
  of: Schema.Literals(["runs", "cost"]),
  limit: Schema.Number,
  used: Schema.Number,
  resets_at: Schema.DateTimeUtcFromString,
  /** Milliseconds until then. */
  retry_after_ms: Schema.Number
}) {}

/** No more event streams can be opened: in this session, with this key, of this webhook or on this server. */
export class TooManyStreams extends Schema.TaggedError<TooManyStreams>()("TooManyStreams", {
  limit: Schema.Number,
  of: Schema.Literals(["session", "webhook", "server", "key"])
}) {}

/** The server cannot get a file that a request named. `reason`, for people, is without its URL. */
export class FileMissing extends Schema.TaggedError<FileMissing>()("FileMissing", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** Another leader has the prompt now, or nobody needs to work on it any longer. */
export class PromptLost extends Schema.TaggedError<PromptLost>()("PromptLost", {}) {}

/** The server is already writing its maximum number of exports. */
export class TooManyExports extends Schema.TaggedError<TooManyExports>()("TooManyExports", { limit: Schema.Number }) {}

/** The run has ended in another way. */
export class RunEnded extends Schema.TaggedError<RunEnded>()("RunEnded", {
  run_id: RunId,
  status: Schema.Literals(allStatuses)
}) {}

/** The run does not wait for approval, or no longer. */
export class ApprovalOver extends Schema.TaggedError<ApprovalOver>()("ApprovalOver", {
  run_id: RunId,
  status: Schema.Literals(allStatuses),
  isDenied: Schema.Boolean,
  /** Who decided. */
  decided_by: Schema.UndefinedOr(Schema.String)
}) {}

/** The run has no place in its lane yet, so a reply would come before it. */
export class RunUnfinished extends Schema.TaggedError<RunUnfinished>()("RunUnfinished", { run_id: RunId }) {}

/** The run's thread has ended, so its agent would not know what a reply is about. */
export class ThreadEnded extends Schema.TaggedError<ThreadEnded>()("ThreadEnded", { run_id: RunId }) {}

/** The webhook is disabled and starts no runs. */
export class WebhookDisabled extends Schema.TaggedError<WebhookDisabled>()("WebhookDisabled", {}) {}

/** The webhook was paused because runs failed in a row. */
export class WebhookPaused extends Schema.TaggedError<WebhookPaused>()("WebhookPaused", {}) {}

/** The same `Idempotency-Key` was used with another request. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {}

/** Too many wrong admin keys came from the caller's address. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()("TooManyAttempts", {}) {}

/** A sensitive action in a session that was begun too long ago, or at a provider that does not say when. */
export class FreshSignInRequired extends Schema.TaggedError<FreshSignInRequired>()("FreshSignInRequired", {}) {}

/** The key or the session may not do this. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { detail: Schema.String }) {}

export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {
  detail: Schema.String,
  /** The address that says which provider issues access tokens (RFC 9728), if the request could have one. */
  resource_metadata: Schema.optionalKey(Schema.String),
  /** Set if the request had an access token. A client then gets a new one (RFC 6750, 3.1). */
  invalid_token: Schema.optionalKey(Schema.Literal(true))
}) {}

/** Database, broker or bucket unreachable, or the server is stopping. The same request may succeed in a moment. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  what: Schema.Literals(["database", "broker", "files", "server"]),
  detail: Schema.String,
  /** Set if the request certainly had no effect: it was never sent, or was refused. */
  not_done: Schema.optionalKey(Schema.Literal(true)),
  /** Set if the request is about a message of ours in Slack: it concerns no other webhook. */
  is_of_slack: Schema.optionalKey(Schema.Literal(true)),
  /** Set if the request's run was accepted before, and continues. */
  run_id: Schema.optionalKey(RunId)
}) {
  override get message() {
    return this.detail
  }
}
