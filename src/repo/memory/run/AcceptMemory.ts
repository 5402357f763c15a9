import { Duration, Either } from "effect"
import { IdempotencyKeyReused, NotFound, TooManyQueued } from "../../../domain/Errors.ts"
import { type RunRow, toRun } from "../../../domain/run/Run.ts"
import { storable } from "../../../domain/StorableText.ts"
import {
  type Acceptance,
  type AcceptanceRefused,
  type AcceptOptions,
  isRetry,
  mostAhead,
  type NewRun,
  WebhookEdited
} from "../../run/RunStore.ts"
import { change, isAfter, isInLane, isOpenedBy, isWaiting, sameBytes, type Tables, withDeadline } from "../Tables.ts"
import { makeSettleRetry } from "./RetriesMemory.ts"
import { makeJoinThread } from "./ThreadsMemory.ts"
import { makeWebhookLimits } from "./WebhookLimitsMemory.ts"

/** How a run is accepted (`RunStore.accept`). */
export const makeAccept = (tables: Tables) => {
  const { find, holds, isPaused, joinedKeys, notify, teams, webhooks, where, windows } = tables

  const limits = makeWebhookLimits(tables)
  const settleRetry = makeSettleRetry(tables)
  const joinThread = makeJoinThread(tables)

  return (
    run: NewRun,
    { maxQueued, countQueued = true, countQueuedOf, admission }: AcceptOptions,
    now: number
  ): Either.Either<Acceptance, AcceptanceRefused> => {
    const { webhook: by, timeout, max_work, idempotency, layout, coalesce, ...given } = run
    const webhook = by && webhooks.get(by.id)
    const known = by === undefined || (webhook?.enabled && isOpenedBy(webhook, by.token_hash, run.accepted_at))
    if (!known || !teams.has(run.team)) return Either.left(new NotFound())
    const failed = isRetry(run) ? find(run.replay_of) : undefined
    if (isRetry(run) && failed?.row.retry_at === undefined) return Either.left(new NotFound())
    if (by && webhook && by.version !== webhook.version) return Either.left(new WebhookEdited())
    const isOfSame = ({ team, webhook_id }: RunRow) => webhook_id === by?.id && (by !== undefined || team === run.team)
    const earlier = tables.runs.findLast(
      (other) => idempotency && isOfSame(other.row) && other.idempotency?.key === idempotency.key
    )
    const isFree = (other: RunRow | undefined) => idempotency?.renewsCancelled === true && other?.status === "cancelled"
    if (
      idempotency &&
      earlier?.idempotency &&
      isAfter(earlier.idempotency.expires_at, run.accepted_at) &&
      !isFree(earlier.row)
    ) {
      if (!sameBytes(earlier.idempotency.request_hash, idempotency.request_hash)) {
        return Either.left(new IdempotencyKeyReused())
      }
      const { deadline_at } = earlier.row
      return Either.right({ _tag: "Repeated", run: toRun(earlier.row), ...(deadline_at && { deadline_at }) })
    }
    const delivery = by && idempotency && `${by.id} ${idempotency.key}`
    const before = delivery === undefined ? undefined : joinedKeys.get(delivery)
    if (before && idempotency && isAfter(before.expires_at, run.accepted_at) && !isFree(find(before.run_id)?.row)) {
      return sameBytes(before.request_hash, idempotency.request_hash)
        ? Either.right({ _tag: "Coalesced", run_id: before.run_id, repeated: true })
        : Either.left(new IdempotencyKeyReused())
    }
    const windowKey = by && coalesce && `${by.id} ${run.team} ${coalesce.key}`
    const window = windowKey === undefined ? undefined : windows.get(windowKey)
    const open = window && find(window.run_id)
    if (open && isWaiting(open.row)) {
      const { joined = 0, run_id } = open.row
      change(open, { prompt: storable(run.prompt), variables: run.variables, joined: joined + 1 })
      open.layout = layout
      notify({ _tag: "RunChanged", run_id })
      if (delivery && idempotency) joinedKeys.set(delivery, { ...idempotency, run_id: open.row.run_id })
      return Either.right({ _tag: "Coalesced", run_id: open.row.run_id, repeated: false })
    }
    if (by?.max_queued !== undefined && countQueuedOf?.has(by.id) !== false) {
      const waiting = where((row) => row.webhook_id === by.id && isWaiting(row)).length
      if (waiting >= by.max_queued) return Either.left(new TooManyQueued({ of: "webhook", limit: by.max_queued }))
    }
    const refusal = by && limits.refusal(by, run.accepted_at, now)
    if (refusal !== undefined) return Either.left(refusal)
    if (countQueued && where(isWaiting).length >= maxQueued) {
      return Either.left(new TooManyQueued({ of: "server", limit: maxQueued }))
    }
    if (by) limits.take(by, run.accepted_at, now)
    const row: RunRow = {
      ...given,
      ...(by && { webhook_id: by.id, webhook_version: run.webhook_version ?? by.version }),
      status: "queued",
      ...joinThread(run),
      prompt: storable(run.prompt),
      timeout_ms: Duration.toMillis(timeout),
      ...(max_work && { max_work_ms: Duration.toMillis(max_work) })
    }
    const ahead = tables.runs
      .filter((other) => other.row.team === run.team && isInLane(other))
      .map(({ row }) => row.run_id)
    const mayBeAdmitted = admission !== undefined && holds(admission.term) && !isPaused(run.team)
    const admitted = mayBeAdmitted && admission.run_ids.has(run.run_id) && ahead.length === 0
    const stored = {
      ...row,
      ...(admitted && { admitted_at: admission.at, ...withDeadline(row, admission.at) }),
      ...(windowKey && coalesce && { collecting_until: coalesce.until, joined: 0 })
    }
    const seq = ++tables.drawn
    tables.runs = [...tables.runs, { row: stored, seq, idempotency, layout, ...(!windowKey && { place: seq }) }]
    if (failed) settleRetry(failed, { retried_by: run.run_id })
    if (windowKey && coalesce) windows.set(windowKey, { run_id: run.run_id, until: coalesce.until })
    const isTold = mayBeAdmitted && !admitted && ahead.length <= mostAhead
    notify({ _tag: admitted || isTold ? "RunAdmitted" : "RunAccepted", team: run.team })
    return Either.right({ _tag: "Accepted", admitted, ...(isTold && { ahead }) })
  }
}
