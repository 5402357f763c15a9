/** Starts a run of another webhook when one ends, for destinations of the kind `chain`. */

import { createHash } from "node:crypto"
import { Data, DateTime, Duration, Effect, Predicate, Result } from "effect"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import { maxChainDepth } from "../../domain/delivery/DestinationKind.ts"
import * as Json from "../../domain/Json.ts"
import { startedRunOf } from "../../domain/run/Submitted.ts"
import { askedAs } from "../../domain/webhook/Approvers.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import * as Input from "../prompt/Input.ts"
import type { TriggerRefused } from "../trigger/Refusals.ts"
import { Trigger } from "../trigger/Trigger.ts"
import type { Means, Message, Sent } from "./kinds/Sender.ts"

/** Longer than the attempts of a delivery, so that it starts one run. */
const keyLife = Duration.days(7)

export const make: Effect.Effect<Means["start"], never, Trigger> = Effect.map(Trigger, (trigger) => {
  const start = (message: Message, teams: DestinationRow["chain_teams"]) =>
    Effect.gen(function* () {
      const { body, id, isTest, run, target } = message
      if (run === undefined) return refused(404, "only the end of a run starts another", { isOfRun: true })
      const chain_depth = (run.chain_depth ?? 0) + 1
      if (chain_depth > maxChainDepth) {
        return refused(508, `at most ${maxChainDepth} runs may follow the first run of a chain`, {
          isOfRun: true
        })
      }
      const found = yield* Effect.catchTag(trigger.open(target), "NotFound", () => new Refused({ sent: deleted }))
      const received_at = yield* DateTime.now
      /** By the webhook as it is when the run is accepted. */
      const read = (webhook: WebhookRow) =>
        Effect.gen(function* () {
          if (teams?.from !== run.team || teams.to !== webhook.team) return yield* new Refused({ sent: moved })
          if (!webhook.enabled) return yield* new Refused({ sent: disabled })
          const values = objectIn(body)
          if (values === undefined) return yield* new Refused({ sent: noObject })
          const sample = Input.takesPayload(webhook) ? { payload: values } : { variables: values }
          return {
            variables: Result.getOrThrow(Input.ofSample(webhook, sample)),
            received_at,
            wait: false,
            ...(!isTest && { chained_from: run.run_id }),
            ...askedAs(run),
            chain_depth,
            // Contains a line break, so that it cannot equal a caller's key.
            idempotency: { key: `chain\n${id}`, request_hash: createHash("sha256").update(id).digest(), life: keyLife }
          }
        })
      const { submitted } = yield* trigger.triggerRead(found, read)
      if (submitted._tag === "Ignored") return { http_status: 200, answer: JSON.stringify({ status: "ignored" }) }
      const run_id = startedRunOf(submitted)
      return { http_status: 202, answer: JSON.stringify({ status: "accepted", run_id }), started_run: run_id }
    })
  return (message, teams) =>
    Effect.catch(start(message, teams), (refusal) =>
      Effect.succeed<Sent>(refusal._tag === "ChainRefused" ? refusal.sent : ofRefusal(refusal, teams))
    )
})

const refused = (http_status: number, fault: string, more: Partial<Sent> = {}): Sent => ({
  http_status,
  answer: "",
  fault,
  ...more
})

class Refused extends Data.TaggedError("ChainRefused")<{ readonly sent: Sent }> {}

const deleted = refused(410, "the webhook was deleted")

const moved = refused(403, "one of the webhooks has been moved to another team; save the target again", {
  isFinal: true
})

/** A state that passes. The deliveries wait for its end, however long it lasts. */
const passing = { isBusy: true } as const

const disabled = refused(409, "the webhook is disabled", passing)

const noObject = refused(422, "the template must make a JSON object", { isOfRun: true })

/** With the status that a caller would get. One that only this run has says nothing about the destination. */
const ofRefusal = (refusal: TriggerRefused, teams: DestinationRow["chain_teams"]): Sent => {
  switch (refusal._tag) {
    case "NotFound":
      // It was found a moment ago. The next attempt finds whether it was deleted.
      return refusal.disabled_webhook === undefined
        ? refused(503, "the webhook was changed during the attempt", passing)
        : disabled
    case "TeamNotRunning":
      return refused(409, `no leader is consuming the queue of the team ${refusal.team}`, passing)
    case "WebhookPaused":
      return refused(409, "the webhook is paused", passing)
    case "BudgetExceeded":
    case "RateLimited":
      return refused(429, "a limit of the webhook is reached", {
        ...passing,
        retryAfter: Duration.millis(refusal.retry_after_ms)
      })
    case "TooManyQueued":
      return refused(429, "the queue is full", passing)
    case "Unavailable":
      return refused(503, refusal.detail, passing)
    default:
      return refused(422, teams?.from === teams?.to ? faultsOf(refusal) : notAccepted, { isOfRun: true })
  }
}

const notAccepted = "the webhook does not accept these values"

/** For readers who may see the webhook: its variables and schema. */
const faultsOf = (refusal: TriggerRefused): string => {
  switch (refusal._tag) {
    case "MissingVariables":
      return `no value for ${refusal.names.join(", ")}`
    case "InvalidVariables":
    case "SchemaMismatch":
      return refusal.faults.map(({ detail, pointer }) => `${pointer} ${detail}`).join("; ")
    default:
      return notAccepted
  }
}

const objectIn = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = Json.parse(text)
    return Predicate.isReadonlyObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
