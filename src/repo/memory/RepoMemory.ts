/**
 * The rows in this process's memory, for tests: gone with the process. Every question is a plain scan, and every method is
 * one synchronous step, so each is atomic.
 */
import { randomBytes } from "node:crypto"
import { Array, Context, DateTime, Duration, Effect, Either, Layer, Option } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { SessionRow } from "../../domain/access/Session.ts"
import {
  ChangedMeanwhile,
  IdempotencyKeyReused,
  NotFound,
  RateLimited,
  TeamExists,
  TeamInUse,
  TeamUnknown,
  TooManyQueued
} from "../../domain/Errors.ts"
import type { RunId, SessionId, WebhookId } from "../../domain/Id.ts"
import { templateOf } from "../../domain/prompt/TemplateChanges.ts"
import { type TemplateVersion, templatesKept } from "../../domain/prompt/TemplateVersion.ts"
import { isAccepted, type ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import { isAnswer, leaderless, outcomeFields, type RunRow, retryAt, toRun } from "../../domain/run/Run.ts"
import { toRunState } from "../../domain/run/RunState.ts"
import { finalStatuses, isFinal, runStatuses } from "../../domain/run/RunStatus.ts"
import { summarize } from "../../domain/run/RunSummary.ts"
import type { Counts } from "../../domain/run/Statistics.ts"
import { storable } from "../../domain/StorableText.ts"
import type { TeamName } from "../../domain/Team.ts"
import { parseRate, type Rate } from "../../domain/webhook/Rate.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { Webhook, type WebhookRow } from "../../domain/webhook/Webhook.ts"
import { AdminKeyStore } from "../AdminKeyStore.ts"
import { AuditStore } from "../AuditStore.ts"
import { type Change, ChangeFeed, makeChangeListeners } from "../ChangeFeed.ts"
import { decodeCursor, decodeIdCursor, encodeCursor } from "../Cursor.ts"
import { HistoryStore } from "../HistoryStore.ts"
import { type LaneRun, LaneStore } from "../LaneStore.ts"
import { LeaseLost, LeaseStore, type Term } from "../LeaseStore.ts"
import { ReplyKeyStore } from "../ReplyKeyStore.ts"
import type { Repo } from "../Repo.ts"
import { RequestStore } from "../RequestStore.ts"
import { fulfils, type RunQuery, searchedId } from "../RunQuery.ts"
import {
  type Acceptance,
  type AcceptanceRefused,
  type AcceptOptions,
  type EndedRun,
  firstOfEach,
  isRetry,
  mostAhead,
  type NewRun,
  type QueuedRuns,
  type RunEnd,
  type RunMark,
  RunStore,
  sentBefore,
  WebhookEdited
} from "../RunStore.ts"
import { SecretKeyStore } from "../SecretKeyStore.ts"
import { SessionStore } from "../SessionStore.ts"
import { TeamStore } from "../TeamStore.ts"
import { TimeStore } from "../TimeStore.ts"
import { WebhookStore } from "../WebhookStore.ts"
import { makeAuditMemory, webhookChange } from "./AuditMemory.ts"

interface StoredTeam {
  readonly created_at: DateTime.Utc
  readonly paused_at?: DateTime.Utc
  readonly resumed_at?: DateTime.Utc
}

interface Stored {
  row: RunRow
  /** The order of acceptance. */
  readonly seq: number
  /** The run's place in its lane; absent while its window is open. */
  place?: number
  readonly idempotency: NewRun["idempotency"]
  layout: NewRun["layout"]
}

/** In which triggers with one key become one run. */
interface OpenWindow {
  readonly run_id: RunId
  readonly until: DateTime.Utc
}

/** The rows in memory. */
export const layer: Layer.Layer<Repo> = Layer.scopedContext(
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const databaseTime = Effect.sync(() => clock.unsafeCurrentTimeMillis())
    const listeners = makeChangeListeners()
    // After the step that made the change, which a listener may follow with one of its own.
    const notify = (change: Change): void => queueMicrotask(() => listeners.notify([change]))
    const teams = new Map<TeamName, StoredTeam>()
    const webhooks = new Map<WebhookId, WebhookRow>()
    /** Newest first. */
    const templates = new Map<WebhookId, ReadonlyArray<TemplateVersion>>()
    /** How many runs had been taken out of a webhook's bucket (`RunStore.accept`), at a time. */
    const taken = new Map<WebhookId, { readonly runs: number; readonly at: number }>()
    let runs: ReadonlyArray<Stored> = []
    /** The last number given to an acceptance or a place. */
    let drawn = 0

    const audit = makeAuditMemory()

    const where = (matches: (row: RunRow) => boolean) => runs.filter(({ row }) => matches(row))
    const find = (id: string) => runs.find(({ row }) => row.run_id === id)
    const remove = (matches: (row: RunRow) => boolean): number => {
      const before = runs.length
      runs = where((row) => !matches(row))
      return before - runs.length
    }
    const change = (run: Stored, fields: Partial<RunRow>): void => {
      run.row = { ...run.row, ...fields }
    }

    const teamRecord = (team: TeamName, { created_at, paused_at }: StoredTeam) => ({
      team,
      queued: where((row) => row.team === team && isWaiting(row)).length,
      created_at,
      ...(paused_at && { paused_at })
    })
    const isPaused = (team: TeamName): boolean => teams.get(team)?.paused_at !== undefined
    const teamStore = TeamStore.of({
      createTeam: (team, at, draft) =>
        Effect.suspend(() => {
          if (teams.has(team)) return new TeamExists({ team })
          teams.set(team, { created_at: at })
          audit.write(draft, { object: team })
          return Effect.succeed(teamRecord(team, { created_at: at }))
        }),
      teams: Effect.sync(() => [...teams].map((team) => teamRecord(...team)).sort(by(({ team }) => team))),
      team: (team) =>
        orNotFound(
          () => teams.get(team),
          (stored) => teamRecord(team, stored)
        ),
      pauseTeam: (team, paused_at, draft) =>
        orNotFound(
          () => teams.get(team),
          (stored) => {
            if (stored.paused_at) return teamRecord(team, stored)
            const paused = { ...stored, paused_at }
            teams.set(team, paused)
            audit.write(draft, { object: team })
            return teamRecord(team, paused)
          }
        ),
      resumeTeam: (team, resumed_at, draft) =>
        orNotFound(
          () => teams.get(team),
          (stored) => {
            const { created_at } = stored
            if (!stored.paused_at) return teamRecord(team, stored)
            const resumed = { created_at, resumed_at }
            teams.set(team, resumed)
            audit.write(draft, { object: team })
            notify({ _tag: "RunAccepted", team })
            return teamRecord(team, resumed)
          }
        ),
      deleteTeam: (team, draft) =>
        Effect.suspend((): Effect.Effect<void, NotFound | TeamInUse> => {
          if (!teams.has(team)) return new NotFound()
          const pointing = [...webhooks.values()].filter((webhook) => webhook.team === team).length
          const live_runs = where((row) => row.team === team && !isFinal(row.status)).length
          if (pointing + live_runs > 0) return new TeamInUse({ team, webhooks: pointing, live_runs })
          remove((row) => row.team === team && row.source === "chat")
          teams.delete(team)
          audit.write(draft, { object: team })
          return Effect.void
        })
    })

    const view = (webhook: WebhookRow): Webhook => {
      const shown = Object.entries(webhook).filter(([field]) => Object.hasOwn(Webhook.fields, field))
      const last = where((row) => row.webhook_id === webhook.id).at(-1)
      return {
        ...(Object.fromEntries(shown) as unknown as Webhook),
        ...(last && { last_triggered_at: last.row.accepted_at })
      }
    }
    const keepTemplate = (webhook: WebhookRow, draft: AuditDraft | undefined) => {
      const { id, updated_at: at, version } = webhook
      const template = templateOf(webhook)
      const kept = templates.get(id) ?? []
      if (Object.entries(template).every(([name, value]) => kept[0]?.[name as keyof TemplateVersion] === value)) return
      const { actor = "unknown", session_id, client_address } = draft ?? {}
      const by = { actor, ...(session_id && { session_id }), ...(client_address && { client_address }) }
      templates.set(id, [{ version, ...template, at, ...by }, ...kept].slice(0, templatesKept))
    }
    const write = (webhook: WebhookRow, draft: AuditDraft | undefined): Effect.Effect<Webhook, TeamUnknown> => {
      if (!teams.has(webhook.team)) return new TeamUnknown({ team: webhook.team })
      const fields = Object.entries(webhook).filter(([, value]) => value !== null)
      const stored = storableFields(Object.fromEntries(fields) as unknown as WebhookRow)
      audit.write(draft, { object: webhook.id, ...webhookChange(webhooks.get(webhook.id), stored) })
      webhooks.set(webhook.id, stored)
      keepTemplate(stored, draft)
      notify({ _tag: "WebhookChanged", webhook_id: webhook.id })
      return Effect.succeed(view(stored))
    }
    const webhookRow = (id: WebhookId) =>
      orNotFound(
        () => webhooks.get(id),
        (webhook) => webhook
      )
    const webhookStore = WebhookStore.of({
      createWebhook: (webhook, draft) => Effect.suspend(() => write({ ...webhook, version: 1 }, draft)),
      webhooks: Effect.sync(() =>
        [...webhooks.values()].map(view).sort(by(({ name, id }) => `${name.toLowerCase()}\0${id}`))
      ),
      webhook: (id) => Effect.map(webhookRow(id), view),
      webhooksByToken: (hashes, now) =>
        Effect.sync(() => {
          const enabled = [...webhooks.values()].filter((webhook) => webhook.enabled)
          return hashes.map((token_hash) => {
            const found = enabled.find((webhook) => isOpenedBy(webhook, token_hash, now))
            return found && { ...found, token_hash }
          })
        }),
      templates: (id) =>
        orNotFound(
          () => templates.get(id),
          (kept) => kept.map(({ prompt_template: _, ...summary }) => summary)
        ),
      template: (id, version) =>
        orNotFound(
          () =>
            (webhooks.get(id)?.version ?? 0) < version
              ? undefined
              : templates.get(id)?.find((kept) => kept.version <= version),
          (kept) => kept
        ),
      oldTokensUsed: (uses) =>
        Effect.sync(() => {
          for (const { webhook_id, old_token_hash, ...use } of uses) {
            const webhook = webhooks.get(webhook_id)
            if (webhook?.old_token_hash !== undefined && sameBytes(webhook.old_token_hash, old_token_hash)) {
              webhooks.set(webhook_id, { ...webhook, ...use })
            }
          }
        }),
      verified: (first) =>
        Effect.sync(() => {
          for (const { webhook_id, version, verified_at } of first) {
            const webhook = webhooks.get(webhook_id)
            if (webhook === undefined || webhook.version !== version || webhook.verified_at !== undefined) continue
            webhooks.set(webhook_id, { ...webhook, verified_at })
            notify({ _tag: "WebhookChanged", webhook_id })
          }
        }),
      webhookRow,
      updateWebhook: (id, change, { versions, audit: draft } = {}) =>
        Effect.flatMap(webhookRow(id), (webhook): Effect.Effect<Webhook, ChangedMeanwhile | TeamUnknown> => {
          const { version } = webhook
          return versions?.includes(version) === false
            ? new ChangedMeanwhile({ version })
            : write({ ...webhook, ...change, version: version + 1 } as WebhookRow, draft)
        }),
      deleteWebhook: (id, draft) =>
        Effect.suspend(() => {
          const webhook = webhooks.get(id)
          if (webhook === undefined) return new NotFound()
          webhooks.delete(id)
          audit.write(draft, { object: id, ...webhookChange(webhook, undefined) })
          taken.delete(id)
          templates.delete(id)
          requests = requests.filter(({ webhook_id }) => webhook_id !== id)
          const unfinished = where((row) => row.webhook_id === id && !isFinal(row.status))
          remove((row) => row.webhook_id === id)
          notify({ _tag: "WebhookChanged", webhook_id: id })
          for (const { row } of unfinished) notify({ _tag: "RunEnded", run_id: row.run_id })
          return Effect.succeed(unfinished.map(({ row }) => row.run_id))
        })
    })

    const isInLane = (run: Stored) => isWaiting(run.row) && run.place !== undefined
    const windows = new Map<string, OpenWindow>()
    /** The idempotency keys of the triggers that became the run of an earlier one. */
    const deliveries = new Map<string, NonNullable<NewRun["idempotency"]> & { readonly run_id: RunId }>()

    let term: Term = 0
    let holder: string | undefined
    const holds = (mine: Term) => holder !== undefined && mine === term

    /** How many are taken now, with one more: above `rate.runs` when one more does not fit. */
    const takenWithOneMore = (id: WebhookId, rate: Rate, now: number): number => {
      const { runs, at } = taken.get(id) ?? { runs: 0, at: now }
      const filled = ((now - at) / 1000 / rate.seconds) * rate.runs
      return Math.min(rate.runs, Math.max(0, runs - filled)) + 1
    }

    const settleRetry = (failed: Stored, fields: Pick<RunRow, "retried_by"> = {}): void => {
      const { retry_at: _, ...row } = failed.row
      failed.row = { ...row, ...fields }
      notify({ _tag: "RunEnded", run_id: row.run_id })
    }

    const waitingRetries = (of: QueuedRuns) =>
      where(
        ({ retry_at, webhook_id }) =>
          retry_at !== undefined &&
          ("team" in of ? webhooks.get(webhook_id!)?.team === of.team : webhook_id === of.webhook_id)
      )

    const accept = (
      run: NewRun,
      { maxQueued, countQueued = true, countQueuedOf, admission }: AcceptOptions,
      now: number
    ): Either.Either<Acceptance, AcceptanceRefused> => {
      const { webhook: by, timeout, idempotency, layout, coalesce, ...given } = run
      const webhook = by && webhooks.get(by.id)
      const known = by === undefined || (webhook?.enabled && isOpenedBy(webhook, by.token_hash, run.accepted_at))
      if (!known || !teams.has(run.team)) return Either.left(new NotFound())
      const failed = isRetry(run) ? find(run.replay_of) : undefined
      if (isRetry(run) && failed?.row.retry_at === undefined) return Either.left(new NotFound())
      const isOfSame = ({ team, webhook_id }: RunRow) =>
        webhook_id === by?.id && (by !== undefined || team === run.team)
      const earlier = runs.findLast(
        (other) => idempotency && isOfSame(other.row) && other.idempotency?.key === idempotency.key
      )
      if (idempotency && earlier?.idempotency && isAfter(earlier.idempotency.expires_at, run.accepted_at)) {
        if (!sameBytes(earlier.idempotency.request_hash, idempotency.request_hash)) {
          return Either.left(new IdempotencyKeyReused())
        }
        const { deadline_at } = earlier.row
        return Either.right({ _tag: "Repeated", run: toRun(earlier.row), ...(deadline_at && { deadline_at }) })
      }
      const delivery = by && idempotency && `${by.id} ${idempotency.key}`
      const before = delivery === undefined ? undefined : deliveries.get(delivery)
      if (before && idempotency && isAfter(before.expires_at, run.accepted_at)) {
        return sameBytes(before.request_hash, idempotency.request_hash)
          ? Either.right({ _tag: "Coalesced", run_id: before.run_id, repeated: true })
          : Either.left(new IdempotencyKeyReused())
      }
      if (by && webhook && by.version !== webhook.version) return Either.left(new WebhookEdited())
      const windowKey = by && coalesce && `${by.id} ${run.team} ${coalesce.key}`
      const window = windowKey === undefined ? undefined : windows.get(windowKey)
      const open = window && find(window.run_id)
      if (open && isWaiting(open.row)) {
        const { joined = 0, run_id } = open.row
        change(open, { prompt: storable(run.prompt), variables: run.variables, joined: joined + 1 })
        open.layout = layout
        notify({ _tag: "RunChanged", run_id })
        if (delivery && idempotency) deliveries.set(delivery, { ...idempotency, run_id: open.row.run_id })
        return Either.right({ _tag: "Coalesced", run_id: open.row.run_id, repeated: false })
      }
      if (by?.max_queued !== undefined && countQueuedOf?.has(by.id) !== false) {
        const waiting = where((row) => row.webhook_id === by.id && isWaiting(row)).length
        if (waiting >= by.max_queued) return Either.left(new TooManyQueued({ of: "webhook", limit: by.max_queued }))
      }
      const rate = by?.rate === undefined ? undefined : parseRate(by.rate)
      const used = by && rate && takenWithOneMore(by.id, rate, now)
      if (by?.rate && rate && used && used > rate.runs) {
        const retry_after_ms = ((used - rate.runs) * rate.seconds * 1000) / rate.runs
        return Either.left(new RateLimited({ rate: by.rate, retry_after_ms }))
      }
      if (countQueued && where(isWaiting).length >= maxQueued) {
        return Either.left(new TooManyQueued({ of: "server", limit: maxQueued }))
      }
      if (by && used) taken.set(by.id, { runs: used, at: now })
      const row: RunRow = {
        ...given,
        ...(by && { webhook_id: by.id, webhook_version: run.webhook_version ?? by.version }),
        status: "queued",
        prompt: storable(run.prompt),
        timeout_ms: Duration.toMillis(timeout)
      }
      const ahead = runs.filter((other) => other.row.team === run.team && isInLane(other)).map(({ row }) => row.run_id)
      const mayBeAdmitted = admission !== undefined && holds(admission.term) && !isPaused(run.team)
      const admitted = mayBeAdmitted && admission.run_ids.has(run.run_id) && ahead.length === 0
      const stored = {
        ...row,
        ...(admitted && { admitted_at: admission.at, ...withDeadline(row, admission.at) }),
        ...(windowKey && coalesce && { collecting_until: coalesce.until, joined: 0 })
      }
      const seq = ++drawn
      runs = [...runs, { row: stored, seq, idempotency, layout, ...(!windowKey && { place: seq }) }]
      if (failed) settleRetry(failed, { retried_by: run.run_id })
      if (windowKey && coalesce) windows.set(windowKey, { run_id: run.run_id, until: coalesce.until })
      const isTold = mayBeAdmitted && !admitted && ahead.length <= mostAhead
      notify({ _tag: admitted || isTold ? "RunAdmitted" : "RunAccepted", team: run.team })
      return Either.right({ _tag: "Accepted", admitted, ...(isTold && { ahead }) })
    }

    const endCollecting = (run: Stored): void => {
      const { collecting_until: _, ...row } = run.row
      run.row = row
    }
    const record = (run: Stored, { outcome, at, ...end }: Omit<RunEnd, "run_id">): void => {
      endCollecting(run)
      const { admitted_at } = run.row
      const started_at = run.row.started_at ?? end.started_at
      const sent_at = sentBefore(run.row.sent_at ?? end.sent_at, started_at)
      const start = started_at ?? sent_at ?? (isAnswer(outcome) ? admitted_at : undefined)
      const retry_at = retryAt(run.row, outcome, at)
      change(run, {
        ...storableFields(outcomeFields(outcome)),
        ...(sent_at && { sent_at }),
        ...(start && { started_at: start }),
        finished_at: at,
        ...(retry_at && { retry_at }),
        ...(outcome.status === "cancelled" && admitted_at === undefined && { released_at: at })
      })
      notify({ _tag: "RunEnded", run_id: run.row.run_id })
    }
    const release = (run: Stored, at: DateTime.Utc): void => {
      if (!isHeld(run.row)) return
      change(run, { released_at: at })
      notify({ _tag: "RunEnded", run_id: run.row.run_id })
    }
    const end = (run: Stored | undefined, given: RunEnd): EndedRun => {
      const { outcome, at, wantsRun = true } = given
      if (run === undefined) return { recorded: false, run }
      const { status, response } = run.row
      const recorded = !isFinal(status)
      if (recorded) record(run, given)
      else if (runStatuses[status].storesLateAnswer && response === undefined && outcome.status === "success") {
        change(run, { response: storable(outcome.response) })
      }
      if (!recorded && outcome.status !== "cancelled") release(run, at)
      return { recorded, run: recorded || wantsRun ? toRun(run.row) : undefined }
    }

    const endAll = (ends: ReadonlyArray<RunEnd>) => ends.map((given) => end(find(given.run_id), given))
    const admit = (marks: ReadonlyArray<RunMark>, now: DateTime.Utc): ReadonlySet<RunId> => {
      const given = new Map(marks.map(({ run_id, at }) => [run_id, at]))
      const queued = where(
        (row) =>
          given.has(row.run_id) && row.status === "queued" && (row.admitted_at !== undefined || !isPaused(row.team))
      )
      for (const run of queued) {
        const admitted_at = run.row.admitted_at ?? given.get(run.row.run_id)!
        change(run, { admitted_at, ...withDeadline(run.row, now) })
      }
      return new Set(queued.map(({ row }) => row.run_id))
    }

    /** A later deadline for a prompt that waits behind an earlier one, see `RunStore.expire`. */
    const laterDeadline = ({ row, place }: Stored, now: DateTime.Utc): DateTime.Utc | undefined => {
      const { sent_at } = row
      if (row.mode !== "async" || sent_at === undefined || row.started_at !== undefined) return undefined
      const stands = (other: Stored) => other.place !== undefined && place !== undefined && other.place < place
      const earlier = runs.filter((other) => other.row.team === row.team && stands(other)).map(({ row }) => row)
      const working = earlier.flatMap(({ status, started_at, deadline_at, released_at }) =>
        (status === "running" || (status === "cancelled" && !released_at)) &&
        started_at &&
        deadline_at &&
        isAfter(deadline_at, now)
          ? deadline_at
          : []
      )
      const answered = earlier.flatMap(({ status, admitted_at, finished_at, released_at }) => {
        const done =
          status === "cancelled"
            ? admitted_at && released_at
            : isFinal(status) && runStatuses[status].answered && finished_at
        return done && isAfter(done, sent_at) ? done : []
      })
      const from = working.length > 0 ? working : answered
      if (from.length === 0) return undefined
      const later = DateTime.add(from.reduce(DateTime.max), { millis: row.timeout_ms })
      return isAfter(later, now) ? later : undefined
    }

    const runStore = RunStore.of({
      accept: (given, options) => Effect.map(databaseTime, (now) => given.map((run) => accept(run, options, now))),
      sent: (marks) =>
        Effect.sync(() => {
          for (const { run_id, at } of firstOfEach(marks)) {
            const run = find(run_id)
            if (!run || !isInFlight(run.row)) continue
            const { started_at, sent_at } = run.row
            if (started_at) change(run, { status: "running", sent_at: sent_at ?? sentBefore(at, started_at) })
            else change(run, { status: "running", sent_at: at, ...clockFrom(run.row, at) })
          }
        }),
      started: (marks) =>
        Effect.sync(() => {
          for (const { run_id, at } of marks) {
            const run = find(run_id)
            if (!run || !isInFlight(run.row) || run.row.started_at) continue
            const sent_at = sentBefore(run.row.sent_at, at)
            change(run, { status: "running", started_at: at, ...(sent_at && { sent_at }), ...clockFrom(run.row, at) })
            notify({ _tag: "RunStarted", run_id })
          }
        }),
      end: (ends) => Effect.sync(() => endAll(ends)),
      endAndAdmit: (ends, { at, run_ids, term }) =>
        Effect.sync(() => {
          const areAllLive = ends.every(({ run_id }) => !isFinal(find(run_id)?.row.status ?? "success"))
          const ended = endAll(ends)
          const marks = areAllLive && holds(term) ? [...run_ids].map((run_id) => ({ run_id, at })) : []
          return { ended, admitted: admit(marks, at) }
        }),
      answerable: (ids) =>
        Effect.sync(() => {
          const takesAnswer = ({ response, run_id, status }: RunRow) =>
            ids.includes(run_id) &&
            (!isFinal(status) || (runStatuses[status].storesLateAnswer && response === undefined))
          return new Map(
            where(takesAnswer).map(({ row }) => [
              row.run_id,
              isFinal(row.status) ? ("late" as const) : ("live" as const)
            ])
          )
        }),
      ended: (ids) =>
        Effect.sync(() => ({
          runs: shown(where((row) => ids.includes(row.run_id) && isFinal(row.status))),
          deleted: ids.filter((id) => !find(id))
        })),
      release: (marks) =>
        Effect.sync(() => {
          for (const { run_id, at } of marks) {
            const run = find(run_id)
            if (run) release(run, at)
          }
        }),
      cancelQueued: (of, at) =>
        Effect.sync(() => {
          const queued = where(
            (row) =>
              isWaiting(row) &&
              !isAfter(row.accepted_at, at) &&
              ("team" in of ? row.team === of.team : row.webhook_id === of.webhook_id)
          )
          for (const run of queued) record(run, { outcome: { status: "cancelled" }, at })
          return queued.length
        }),
      retriesDue: (now, { limit, except }) =>
        Effect.sync(() =>
          where(({ retry_at, webhook_id }) => !!retry_at && !isAfter(retry_at, now) && !except.includes(webhook_id!))
            .map(({ row }) => row)
            .sort((a, b) => DateTime.distance(b.retry_at!, a.retry_at!))
            .slice(0, limit)
            .map(({ run_id }) => run_id)
        ),
      callOffRetries: (ids) =>
        Effect.sync(() => {
          const waiting = where(({ run_id, retry_at }) => retry_at !== undefined && ids.includes(run_id))
          for (const run of waiting) settleRetry(run)
          return new Set(waiting.map(({ row }) => row.run_id))
        }),
      callOffRetriesOf: (of) =>
        Effect.sync(() => {
          const waiting = waitingRetries(of)
          for (const run of waiting) settleRetry(run)
          return waiting.length
        }),
      countRetries: (of) => Effect.sync(() => waitingRetries(of).length),
      expire: (now, { notSent = [], stopped = [] } = {}) =>
        Effect.sync(() => {
          const isLeaderless = ({ accepted_at, admitted_at, deadline_at, mode, team }: RunRow) => {
            if (mode !== "async" || admitted_at !== undefined || deadline_at === undefined) return false
            const { resumed_at = accepted_at } = teams.get(team) ?? {}
            const later = Math.max(0, DateTime.distance(accepted_at, resumed_at))
            return (
              stopped.includes(team) && !isPaused(team) && !isAfter(DateTime.add(deadline_at, { millis: later }), now)
            )
          }
          for (const run of where(
            (row) => isHeld(row) && row.deadline_at !== undefined && !isAfter(row.deadline_at, now)
          ))
            release(run, now)
          const due = where(
            (row) =>
              !isFinal(row.status) &&
              row.deadline_at !== undefined &&
              !isAfter(row.deadline_at, now) &&
              (row.mode === "wait" ||
                (row.admitted_at !== undefined && !notSent.includes(row.run_id)) ||
                isLeaderless(row))
          )
          return due
            .map((run) => ({ run, later: laterDeadline(run, now) }))
            .flatMap(({ run, later }) => {
              if (later) change(run, { deadline_at: later })
              else if (isLeaderless(run.row)) record(run, { outcome: { status: "error", error: leaderless }, at: now })
              else record(run, { outcome: { status: "timeout" }, at: now })
              return later ? [] : toRun(run.row)
            })
        })
    })

    let expiresAt = 0
    const held = (mine: Term) => Effect.suspend(() => (holds(mine) ? Effect.void : new LeaseLost()))
    const leaseStore = LeaseStore.of({
      acquireLease: (name, life, overdue = Duration.zero) =>
        Effect.map(databaseTime, (now) => {
          const isHeld = holder !== undefined && expiresAt + Duration.toMillis(overdue) > now
          if (isHeld && holder !== name) return Option.none()
          holder = name
          expiresAt = now + Duration.toMillis(life)
          return Option.some(++term)
        }),
      renewLease: (mine, life) =>
        Effect.map(Effect.zipRight(held(mine), databaseTime), (now) => {
          expiresAt = now + Duration.toMillis(life)
        }),
      // There is no other process.
      lockForProcess: (mine) => Effect.succeed({ id: mine, isHeld: () => false }),
      nextTerm: (mine) => Effect.map(held(mine), () => ++term),
      offerLease: (mine) =>
        Effect.map(Effect.zipRight(held(mine), databaseTime), (now) => {
          expiresAt = now
          notify({ _tag: "LeaseReleased" })
        }),
      releaseLease: (mine) =>
        Effect.sync(() => {
          if (!holds(mine)) return
          holder = undefined
          notify({ _tag: "LeaseReleased" })
        })
    })

    const laneRun = ({ row, layout }: Stored): LaneRun => {
      const { run_id, source, team, mode, status, prompt, timeout_ms, deadline_at, traceparent } = row
      const webhook = row.webhook_id && webhooks.get(row.webhook_id)
      const { id, name, max_concurrent } = webhook || {}
      return {
        ...{ run_id, source, team, mode, status, prompt, timeout_ms },
        ...(deadline_at && { deadline_at }),
        ...(traceparent && { traceparent }),
        ...(layout && { layout }),
        ...(id && name && { webhook: { id, name, ...(max_concurrent && { max_concurrent }) } })
      }
    }
    const laneStore = LaneStore.of({
      queued: (most, ids = []) =>
        Effect.sync(() => {
          const waiting = where(isWaiting)
          const ofWebhook = (id: WebhookId) => waiting.filter(({ row }) => row.webhook_id === id).length
          const webhooks = ids.map((id) => [id, ofWebhook(id)] as const).filter(([, runs]) => runs > 0)
          return { all: Math.min(most, waiting.length), webhooks: new Map(webhooks) }
        }),
      lanes: Effect.sync(() =>
        [...new Set(runs.filter((run) => isInLane(run) && !isPaused(run.row.team)).map(({ row }) => row.team))].sort()
      ),
      lane: (team, limit) =>
        Effect.sync(() =>
          runs
            .filter((run) => run.row.team === team && isInLane(run) && !isPaused(team))
            .sort(byPlace)
            .slice(0, limit)
            .map(laneRun)
        ),
      closeWindows: (now) =>
        Effect.sync(() => {
          const over = [...windows].filter(([, { until }]) => !isAfter(until, now))
          for (const [key, { run_id }] of over.sort(([, a], [, b]) => DateTime.distance(b.until, a.until))) {
            windows.delete(key)
            const run = find(run_id)
            if (!run || !isWaiting(run.row)) continue
            run.place = ++drawn
            endCollecting(run)
            notify({ _tag: "RunChanged", run_id })
          }
          for (const [key, { expires_at }] of deliveries) if (!isAfter(expires_at, now)) deliveries.delete(key)
        }),
      inFlight: Effect.sync(() =>
        where((row) => isInFlight(row) || isHeld(row))
          .sort(byPlace)
          .map(laneRun)
      ),
      forgetSent: (at) =>
        Effect.sync(() => {
          runs = runs.map((run) => {
            if (isHeld(run.row)) return { ...run, row: { ...run.row, released_at: at } }
            if (!isInFlight(run.row)) return run
            const { sent_at: _, started_at: __, ...row } = run.row
            return { ...run, row: { ...row, status: "queued", ...clockFrom(row, at) } }
          })
        }),
      admit: (marks, mine, now) => Effect.map(held(mine), () => admit(marks, now)),
      limits: (ids) =>
        Effect.sync(() => {
          const found = ids.map((id) => [id, webhooks.get(id)?.max_concurrent] as const)
          return new Map(found.flatMap(([id, limit]) => (limit === undefined ? [] : [[id, limit]])))
        })
    })

    const buckets = (id: WebhookId, since: DateTime.Utc, step: Duration.Duration) => {
      const recent = where((row) => row.webhook_id === id && !isAfter(since, row.accepted_at)).map(({ row }) => row)
      const bucket = ({ accepted_at }: RunRow) => DateTime.distance(since, accepted_at) / Duration.toMillis(step)
      const grouped = Array.groupBy(recent, (row) => String(Math.floor(bucket(row))))
      return Object.entries(grouped).map(([bucket, rows]) => ({ bucket: Number(bucket), rows }))
    }
    const pageOf = ({ limit, cursor, ...filter }: RunQuery) =>
      Effect.gen(function* () {
        const { webhook_id } = filter
        const ofWebhook = webhook_id !== undefined
        const place = ({ row, seq }: Stored): number | string => (ofWebhook ? seq : row.run_id)
        const decoded: Option.Option<number | string> = yield* ofWebhook ? decodeCursor(cursor) : decodeIdCursor(cursor)
        const before = Option.getOrUndefined(decoded)
        if (ofWebhook && !webhooks.has(webhook_id)) return yield* new NotFound()
        const id = before === undefined ? searchedId(filter) : undefined
        const named = id === undefined ? [] : where((row) => row.run_id === id && fulfils(row, filter, false))
        if (named.length > 0) return { data: named, next_cursor: null }
        const found = where((row) => fulfils(row, filter, true))
          .filter((run) => before === undefined || place(run) < before)
          .sort((a, b) => (place(a) < place(b) ? 1 : -1))
        const page = found.slice(0, limit)
        const last = page.at(-1)
        return {
          data: page,
          next_cursor: last && found.length > limit ? encodeCursor(place(last)) : null
        }
      })
    const historyStore = HistoryStore.of({
      run: (id) =>
        orNotFound(
          () => find(id),
          ({ row }) => toRun(row)
        ),
      runs: (query) => Effect.map(pageOf(query), ({ data, ...page }) => ({ ...page, data: summaries(data) })),
      runsByIds: (ids) =>
        Effect.sync(() =>
          where((row) => ids.includes(row.run_id)).map(({ row, layout }) => ({
            ...toRun(row),
            ...(layout && { layout })
          }))
        ),
      replays: (id, limit) =>
        Effect.sync(() =>
          summaries(
            where((row) => row.replay_of === id)
              .toReversed()
              .slice(0, limit)
          )
        ),
      replayable: ({ of, statuses, from, to, keyPrefix, limit }) =>
        Effect.sync(() => {
          const counts = ({ idempotency }: Stored) => !(keyPrefix && idempotency?.key.startsWith(keyPrefix))
          const repeated = new Set(runs.filter(counts).map(({ row }) => row.replay_of))
          const isOf = ({ team, webhook_id }: RunRow) =>
            "webhook_id" in of
              ? webhook_id === of.webhook_id
              : (webhook_id === undefined ? team : webhooks.get(webhook_id)?.team) === of.team
          return where((row) => isOf(row) && isFinal(row.status) && statuses.includes(row.status) && !row.retry_at)
            .filter(counts)
            .filter(({ row }) => !(from && isAfter(from, row.accepted_at)) && (!to || isAfter(to, row.accepted_at)))
            .flatMap(({ row }) => (repeated.has(row.run_id) ? [] : row.run_id))
            .slice(0, limit)
        }),
      teamRuns: (team, limit) =>
        Effect.sync(() =>
          summaries(
            where((row) => row.team === team && (!row.webhook_id || webhooks.get(row.webhook_id)?.team === team))
              .toReversed()
              .slice(0, limit)
          )
        ),
      states: ({ run_ids, teams, since, limit }) =>
        Effect.sync(() => {
          const newest = teams.flatMap((team) => {
            const live = where((row) => row.team === team && !isFinal(row.status)).toReversed()
            return [true, false].flatMap((waits) => live.filter(({ row }) => isWaiting(row) === waits).slice(0, limit))
          })
          const ids = new Set<string>(run_ids)
          for (const { row } of newest) if (!isAfter(since, row.accepted_at)) ids.add(row.run_id)
          return where((row) => ids.has(row.run_id)).map(({ row }) => toRunState(row))
        }),
      activity: (since, step) =>
        Effect.sync(() =>
          [...webhooks.keys()].flatMap((webhook_id) =>
            buckets(webhook_id, since, step).map(({ bucket, rows }) => ({ webhook_id, bucket, ...counts(rows) }))
          )
        ),
      statistics: (id, since, step) =>
        Effect.sync(() =>
          buckets(id, since, step).map(({ bucket, rows }) => ({ bucket, ...counts(rows), ...durations(rows) }))
        ),
      slots: (id) =>
        Effect.sync(() => ({
          slots_in_use: where((row) => row.webhook_id === id && isInFlight(row)).length,
          queued: where((row) => row.webhook_id === id && isWaiting(row)).length
        })),
      rollUp: () => Effect.succeed(false),
      purge: (before) =>
        Effect.sync(() =>
          remove(({ finished_at, retry_at }) => !!finished_at && !retry_at && isAfter(before, finished_at))
        )
    })

    let requests: ReadonlyArray<ReceivedRequest> = []
    const requestStore = RequestStore.of({
      recordRequests: (more, keep) =>
        Effect.sync(() => {
          const all = [...requests, ...more.map(storableFields)].sort(by(({ request_id }) => request_id)).reverse()
          const kindOf = (request: ReceivedRequest) => (isAccepted(request) ? "accepted" : "refused")
          const ofEach = Array.groupBy(all, (request) => `${request.webhook_id} ${kindOf(request)}`)
          requests = Object.values(ofEach)
            .flatMap((newest) => newest.slice(0, keep[kindOf(newest[0])]))
            .sort(by(({ request_id }) => request_id))
            .reverse()
          requests = requests.filter(({ webhook_id }) => webhooks.has(webhook_id))
        }),
      requests: (id, since, { accepted, shown }) =>
        Effect.sync(() =>
          requests
            .filter((request) => request.webhook_id === id && !isAfter(since, request.received_at))
            .filter((request) => accepted || !isAccepted(request))
            .map(({ headers: _, query: __, body, ...request }) => ({
              ...request,
              ...(body !== undefined && { body: body.slice(0, shown) })
            }))
        ),
      request: (id, request_id) =>
        orNotFound(
          () => requests.find((request) => request.webhook_id === id && request.request_id === request_id),
          (request) => request
        ),
      forgetRequests: (before) =>
        Effect.sync(() => {
          requests = requests.filter(({ received_at }) => !isAfter(before, received_at))
        })
    })

    let adminKey = Option.none<Uint8Array>()
    const adminKeyStore = AdminKeyStore.of({
      adminKeyHash: Effect.sync(() => adminKey),
      claimAdminKeyHash: (hash) =>
        Effect.sync(() => {
          adminKey = Option.orElse(adminKey, () => Option.some(hash))
          return Option.getOrThrow(adminKey)
        })
    })

    const replyKey = { key: new Uint8Array(randomBytes(32)) }
    let secretKey = Option.none<Uint8Array>()
    const secretKeyStore = SecretKeyStore.of({
      secretKeyFingerprint: Effect.sync(() => secretKey),
      setSecretKeyFingerprint: (to, from) =>
        Effect.sync(() => {
          const isFrom = Option.isNone(from)
            ? Option.isNone(secretKey)
            : Option.exists(secretKey, (known) => sameBytes(known, from.value))
          if (isFrom) secretKey = Option.some(to)
          return Option.getOrElse(secretKey, () => to)
        })
    })

    const sessions = new Map<SessionId, SessionRow>()
    const sessionStore = SessionStore.of({
      createSession: (session, draft) =>
        Effect.sync(() => {
          const { id, user_agent } = session
          sessions.set(id, storableFields(session))
          audit.write(draft, { object: id, after: { user_agent } })
        }),
      sessionsByToken: (hashes) =>
        Effect.sync(() =>
          hashes.map((hash) => [...sessions.values()].find(({ token_hash }) => sameBytes(token_hash, hash)))
        ),
      sessions: Effect.sync(() =>
        [...sessions.values()].sort(
          (a, b) => DateTime.distance(a.last_used_at, b.last_used_at) || (a.id < b.id ? 1 : -1)
        )
      ),
      recordSessionUse: (id, use) =>
        Effect.sync(() => {
          const session = sessions.get(id)
          if (session) sessions.set(id, { ...session, ...use })
        }),
      endSessions: (ids, draft) =>
        Effect.sync(() => {
          const ended = ids.filter((id) => sessions.delete(id))
          if (ended.length === 1) audit.write(draft, { object: ended[0]! })
          else if (ended.length > 1) audit.write(draft, { after: { ended: ended.length } })
          for (const session_id of ended) notify({ _tag: "SessionEnded", session_id })
          return ended
        })
    })

    return Context.make(TeamStore, teamStore).pipe(
      Context.add(WebhookStore, webhookStore),
      Context.add(RunStore, runStore),
      Context.add(LaneStore, laneStore),
      Context.add(LeaseStore, leaseStore),
      Context.add(HistoryStore, historyStore),
      Context.add(RequestStore, requestStore),
      Context.add(AdminKeyStore, adminKeyStore),
      Context.add(ReplyKeyStore, { replyKey: Effect.succeed(replyKey) }),
      Context.add(SecretKeyStore, secretKeyStore),
      Context.add(SessionStore, sessionStore),
      Context.add(AuditStore, audit.store),
      Context.add(TimeStore, { databaseTime }),
      Context.add(ChangeFeed, {
        listen: listeners.listen,
        publish: (changes) => Effect.sync(() => changes.forEach(notify)),
        ping: Effect.void
      })
    )
  })
)

const orNotFound = <A, B>(find: () => A | undefined, use: (found: A) => B): Effect.Effect<B, NotFound> =>
  Effect.suspend(() => {
    const found = find()
    return found === undefined ? new NotFound() : Effect.succeed(use(found))
  })

const shown = (runs: ReadonlyArray<Stored>) => runs.map(({ row }) => toRun(row))

const summaries = (runs: ReadonlyArray<Stored>) => runs.map(({ row }) => summarize(row))

const byPlace = (a: Stored, b: Stored): number => a.place! - b.place!

/** Also while its window is open. */
const isWaiting = (row: RunRow): boolean => row.status === "queued" && row.admitted_at === undefined

const isInFlight = (row: RunRow): boolean => !isFinal(row.status) && row.admitted_at !== undefined

/** It was cancelled, and still holds its slots. */
const isHeld = (row: RunRow): boolean => row.status === "cancelled" && row.released_at === undefined

const isAfter = DateTime.greaterThan

const clockFrom = ({ mode, timeout_ms }: RunRow, at: DateTime.Utc): Pick<RunRow, "deadline_at"> =>
  mode === "async" ? { deadline_at: DateTime.add(at, { millis: timeout_ms }) } : {}

/** The deadline of a run from its admission on. */
const withDeadline = (row: RunRow, admittedAt: DateTime.Utc): Pick<RunRow, "deadline_at"> =>
  row.deadline_at === undefined || row.admitted_at === undefined ? clockFrom(row, admittedAt) : {}

const counts = (rows: ReadonlyArray<RunRow>): Counts => ({
  ...(Object.fromEntries(
    finalStatuses.map((status) => [status, rows.filter((row) => row.status === status).length])
  ) as Omit<Counts, "live">),
  live: rows.filter((row) => !isFinal(row.status)).length
})

const durations = (rows: ReadonlyArray<RunRow>) => {
  const sorted = rows
    .flatMap((row) => (row.status === "success" ? (toRun(row).duration_ms ?? []) : []))
    .sort((a, b) => a - b)
  if (sorted.length === 0) return {}
  const median_ms = (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2
  return { median_ms, slowest_ms: sorted.at(-1)! }
}

const storableFields = <A extends object>(fields: A): A =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? storable(value) : value])
  ) as A

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.from(a).equals(b)

const isOpenedBy = (webhook: WebhookRow, hash: TokenHash, now: DateTime.Utc): boolean => {
  const { old_token_hash, old_token_valid_until, token_hash } = webhook
  if (sameBytes(token_hash, hash)) return true
  return (
    old_token_hash !== undefined &&
    old_token_valid_until !== undefined &&
    sameBytes(old_token_hash, hash) &&
    isAfter(old_token_valid_until, now)
  )
}

const by =
  <A>(key: (a: A) => string) =>
  (a: A, b: A): number =>
    key(a) < key(b) ? -1 : 1
