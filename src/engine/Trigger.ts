import { Context, type Effect } from "effect"
import type {
  IdempotencyKeyReused,
  InvalidVariables,
  MissingVariables,
  NotFound,
  PromptTooLarge,
  TeamNotRunning,
  TooManyQueued,
  Unavailable
} from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import type { Run, Variables } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { Webhook } from "../domain/Webhook.ts"
import type { Token, TokenHash } from "./Token.ts"

/** A webhook that a caller has shown the token of. */
export interface Entry {
  readonly webhook: Webhook
  readonly token_hash: TokenHash
}

export interface TriggerRequest {
  readonly variables: Variables
  /** Milliseconds since the epoch, from Effect's `Clock`; a wait's deadline is counted from here. */
  readonly received_at: number
  readonly idempotency?: { readonly key: string; readonly request_hash: Uint8Array }
}

export type Refused =
  | InvalidVariables
  | MissingVariables
  | PromptTooLarge
  | TeamNotRunning
  | TooManyQueued
  | IdempotencyKeyReused
  | NotFound
  | Unavailable

/** The front of the flow: authenticate, render, accept; and wait, when the caller wants the answer. */
export class Trigger extends Context.Tag("webhook-trigger/Trigger")<
  Trigger,
  {
    /** `NotFound`: unknown, malformed, replaced or deleted token, or a disabled webhook. */
    readonly authenticate: (token: Token) => Effect.Effect<Entry, NotFound | Unavailable>
    /** Fire and forget: returns once the run is committed. */
    readonly submit: (entry: Entry, request: TriggerRequest) => Effect.Effect<RunId, Refused>
    /** Waits for the end of the run: `success`, `error`, or `timeout` at the deadline. Interruption leaves the run alone. */
    readonly ask: (entry: Entry, request: TriggerRequest) => Effect.Effect<Run, Refused>
    /** A run of this very webhook; with `wait`, held until it has ended or the webhook's timeout has passed. */
    readonly run: (
      entry: Entry,
      run_id: RunId,
      options: { readonly wait: boolean }
    ) => Effect.Effect<Run, NotFound | Unavailable>
    /** A chat message into the team's lane. `NotFound`: no such team. */
    readonly submitMessage: (team: TeamName, message: string) => Effect.Effect<RunId, Refused>
    readonly askMessage: (team: TeamName, message: string, received_at: number) => Effect.Effect<Run, Refused>
  }
>() {}
