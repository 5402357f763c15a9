import { Effect } from "effect"
import type { DeliveryAttempt } from "../../../../src/domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../../../src/domain/delivery/Destination.ts"
import { runEndEvents } from "../../../../src/domain/delivery/DestinationEvent.ts"
import { makeDestinationId, type WebhookId } from "../../../../src/domain/Id.ts"
import { type Outcome } from "../../../../src/domain/run/Run.ts"
import type { AttemptResult, ClaimOptions, DueDelivery } from "../../../../src/repo/delivery/DeliveryStore.ts"
import type { ChangeOptions } from "../../../../src/repo/delivery/DestinationStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, endOne, queueRun, success } from "../fixtures.ts"

export const newDestination = (
  webhook_id: WebhookId | undefined,
  fields: Partial<DestinationRow> = {},
  options?: ChangeOptions
) =>
  Effect.gen(function* () {
    const row: DestinationRow = {
      id: yield* makeDestinationId,
      ...(webhook_id !== undefined && { webhook_id }),
      kind: "webhook",
      url: "https://hooks.example.com/runs",
      events: runEndEvents,
      body: "thin",
      header_names: [],
      sealed_secret: "sealed",
      secret_hint: "…x7Qa",
      enabled: true,
      created_at: at(0),
      updated_at: at(0),
      ...fields
    }
    yield* (yield* Repo).createDestination(row, options)
    return row
  })

/** A run of the webhook that ends at `ms`. */
export const endRun = Effect.fnUntraced(function* (
  webhook: Parameters<typeof queueRun>[0],
  ms: number,
  outcome: Outcome = success("Done")
) {
  const id = yield* queueRun(webhook)
  yield* endOne(id, outcome, ms)
  return id
})

export type RunDelivery = Extract<DueDelivery, { readonly run: object }>

/** Deliveries about runs. */
export const claim = (ms: number, options: Partial<ClaimOptions> = {}) =>
  Effect.map(claimAll(ms, options), (all) => all.filter((due): due is RunDelivery => "run" in due))

export const claimAll = (ms: number, options: Partial<ClaimOptions> = {}) =>
  Effect.flatMap(Repo, (repo) =>
    repo.claimDeliveries({
      now: at(ms),
      until: at(ms + 60_000),
      limit: 100,
      limitOfEach: 10,
      limitOfFailing: 1,
      limitOfCaller: 2,
      limitOfCallback: 100,
      limitOfCallbacks: 100,
      inProgress: [],
      ...options
    })
  )

export const attemptAt = (ms: number, fields: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  at: at(ms),
  duration_ms: 12,
  http_status: 200,
  answer: "ok",
  ...fields
})

export const failedAt = (ms: number) => attemptAt(ms, { http_status: 500, error: "answered 500" })

export const recorded = (
  { destination, id }: DueDelivery,
  attempt: DeliveryAttempt,
  next: AttemptResult["next"],
  more: Partial<AttemptResult> = {}
) =>
  Effect.flatMap(Repo, (repo) =>
    repo.recordAttempts([{ id, destination_id: destination.id, attempt, next, isGone: false, ...more }], at(0))
  )

export const deliveriesOf = (webhook_id: WebhookId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.deliveries({ owner: webhook_id, limit: 100 })),
    ({ data }) => data
  )
