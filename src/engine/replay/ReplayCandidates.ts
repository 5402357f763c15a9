/** Makes the new run that repeats an ended one. */
import { DateTime, Effect } from "effect"
import {
  type FilterFailed,
  type IdempotencyKeyReused,
  Invalid,
  type InvalidParameter,
  type InvalidVariables,
  type MissingVariables,
  type NotFound,
  PromptTooLarge,
  type SchemaMismatch,
  type TeamNotRunning,
  type TemplateFailed,
  type TooManyQueued,
  WebhookDisabled
} from "../../domain/Errors.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { type Actor, askedAs, needsApproval } from "../../domain/webhook/Approvers.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { WholeRun } from "../../repo/history/HistoryStore.ts"
import { waitRefused } from "../manage/Approvals.ts"
import * as Input from "../prompt/Input.ts"
import { InputChecks } from "../prompt/InputChecks.ts"
import * as Rendering from "../prompt/Rendering.ts"
import * as RunTexts from "../prompt/RunTexts.ts"
import { Settings } from "../Settings.ts"
import * as Candidates from "../trigger/Candidates.ts"

/** How runs are replayed. */
export interface ReplayRequest {
  /** `template`: fill in the webhook's current template. `same`: send the same prompt again. */
  readonly prompt: "template" | "same"
  /** Replace the run's own variables. Only with `template`, and not for a message. */
  readonly variables?: Variables
  /** Replaces the text of a message. */
  readonly message?: string
  /** Who repeats them; absent: somebody who may not approve them. */
  readonly by?: Actor
  /** The key of another thread; `null`: none. Default: the thread of the run. */
  readonly thread?: string | null
  /** Each key replays a run once. The hash covers the other fields. */
  readonly idempotency?: { readonly key: string; readonly request_hash: Uint8Array }
}

export type ReplayRefused =
  | NotFound
  | Invalid
  | InvalidParameter
  | WebhookDisabled
  | InvalidVariables
  | MissingVariables
  | PromptTooLarge
  | TemplateFailed
  | FilterFailed
  | SchemaMismatch
  | TeamNotRunning
  | TooManyQueued
  | IdempotencyKeyReused

export const make = Effect.gen(function* () {
  const { maxPrompt } = yield* Settings
  const render = yield* Rendering.make
  const textsOf = yield* RunTexts.make
  const inputChecks = yield* InputChecks
  const candidates = yield* Candidates.make

  /** The fields that the new run takes from the request. */
  const againOf = (
    run: WholeRun,
    { idempotency, thread = run.thread?.key ?? null }: ReplayRequest,
    waitsSince: DateTime.Utc | undefined
  ) =>
    Effect.map(DateTime.now, (now) => ({
      received_at: waitsSince ?? now,
      wait: waitsSince !== undefined,
      ...(thread !== null && { thread_key: thread }),
      ...(idempotency && { idempotency: { ...idempotency, key: keyOf(idempotency.key) + run.run_id } })
    }))

  const ofMessage = (run: WholeRun, request: ReplayRequest, waitsSince?: DateTime.Utc) =>
    Effect.gen(function* () {
      if (request.variables) return yield* mismatch("/variables", "must not be given for a message: it has none")
      const { message = run.conversation.prompt } = request
      if (Buffer.byteLength(message) > maxPrompt) return yield* new PromptTooLarge({ limit_bytes: maxPrompt })
      const again = { ...(yield* againOf(run, request, waitsSince)), ...(run.agent && { agent: run.agent }) }
      return candidates.ofMessage(run.team, message, again, run.run_id)
    })

  const ofRun = (run: WholeRun, webhook: WebhookRow, request: ReplayRequest, waitsSince?: DateTime.Utc) =>
    Effect.gen(function* () {
      if (request.message !== undefined) {
        return yield* mismatch("/message", "must not be given for a webhook's run: give `variables`")
      }
      if (!webhook.enabled) return yield* new WebhookDisabled()
      const { by } = request
      if (waitsSince !== undefined && needsApproval(webhook, by)) return yield* waitRefused
      const given = request.variables ?? run.variables
      // A reply is its own prompt: no template made it.
      const isReply = run.webhook_version === undefined && request.variables === undefined
      const isSame = isReply || request.prompt === "same"
      const variables = isSame ? given : yield* Effect.fromResult(Input.used(webhook, given, given))
      // A person asked for it, so `accept_if` does not apply.
      const { accept_if: _, ...unfiltered } = webhook
      if (request.variables && !Input.takesPayload(webhook)) {
        yield* Effect.catchTag(inputChecks.check(unfiltered, Combined.ownOf(webhook, variables)), "Ignored", Effect.die)
      }
      const rendered = isSame
        ? { prompt: run.conversation.prompt, ...(run.layout && { layout: run.layout }) }
        : yield* render(webhook, variables)
      const texts = request.variables === undefined ? Candidates.textsOf(run) : yield* textsOf(webhook, variables)
      const own = {
        variables,
        ...texts,
        ...Candidates.filesOf(run),
        ...(yield* againOf(run, request, waitsSince)),
        // Its caller waits for an answer.
        ...(run.callback_url !== undefined && { callback_url: run.callback_url }),
        ...Candidates.chainOf(run),
        ...(by && { by }),
        ...askedAs(run),
        ...(isSame && { webhook_version: run.webhook_version ?? null })
      }
      return candidates.ofReplay(webhook, own, rendered, run.run_id)
    })

  return { ofMessage, ofRun }
})

const mismatch = (pointer: string, detail: string) => new Invalid({ faults: [{ pointer, detail }] })

/**
 * The key of requests that replay all runs that match: each run is replayed once, however many of them come at the same
 * time. Their hashes tell the requests apart.
 */
export const onceKey = "\nonce"

/** Contains line breaks, so that it cannot equal a caller's key. */
export const keyOf = (action: string): string => `replay\n${action}\n`
