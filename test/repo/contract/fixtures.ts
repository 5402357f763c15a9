/** Records to fill a repo with. Times are milliseconds from `epoch`. */
import { randomBytes } from "node:crypto"
import { DateTime, Duration, Effect } from "effect"
import type { Unavailable } from "../../../src/domain/Errors.ts"
import { makeRunId, makeWebhookId, type RunId, runIdAt, type WebhookId } from "../../../src/domain/Id.ts"
import type { ReceivedRequest } from "../../../src/domain/request/ReceivedRequest.ts"
import type { Outcome } from "../../../src/domain/run/Run.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import type { Budget } from "../../../src/domain/webhook/Budget.ts"
import type { TokenHash } from "../../../src/domain/webhook/Token.ts"
import type { Webhook, WebhookRow } from "../../../src/domain/webhook/Webhook.ts"
import type { NewWebhook } from "../../../src/repo/manage/WebhookStore.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import type { RunEnd } from "../../../src/repo/run/RunEnd.ts"
import type { AcceptOptions, NewRun, SlotLimits, StepInput, StepOptions } from "../../../src/repo/run/RunStore.ts"

export const epoch = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
export const at = (ms: number): DateTime.Utc => DateTime.makeUnsafe(epoch + ms)

export const team = (name: string): TeamName => TeamName.make(name)
export const success = (response: string): Outcome => ({ status: "success", response })
export const failure = (message: string): Outcome => ({ status: "error", error: { code: "agent_error", message } })
export const timeout: Outcome = { status: "timeout" }

/** Every way a run can end. A final status without a line here does not compile. */
export const outcomes: { readonly [S in Outcome["status"]]: Extract<Outcome, { readonly status: S }> } = {
  success: { status: "success", response: "Done" },
  error: { status: "error", error: { code: "agent_error", message: "No disk" } },
  timeout: { status: "timeout" },
  cancelled: { status: "cancelled", cancelled_by: "host" }
}

export const ops = team("ops")
export const unlimited = { maxQueued: 1_000_000 }
export const minute = Duration.minutes(1)

/** From nothing to `n - 1`. */
export const count = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, i) => i)
export const together = { concurrency: "unbounded" } as const

/** The hash of a token that nobody knows. */
export const newTokenHash: Effect.Effect<TokenHash> = Effect.sync(() => new Uint8Array(randomBytes(32)))

/** What a trigger's caller knows of the webhook. */
export type Target = Webhook & Pick<WebhookRow, "token_hash" | "version"> & { readonly budget?: Budget }

/** A webhook, and its team. */
export const createWebhook = Effect.fnUntraced(function* (fields: Partial<NewWebhook> = {}) {
  const repo = yield* Repo
  const row: NewWebhook = {
    id: yield* makeWebhookId,
    name: "deploy",
    team: ops,
    prompt_template: "Deploy {{service}}",
    variables: ["service"],
    enabled: true,
    token_hash: yield* newTokenHash,
    token_hint: "…x7Qa",
    created_at: at(0),
    updated_at: at(0),
    ...fields
  }
  yield* Effect.ignore(repo.createTeam(row.team, at(0)))
  return { ...(yield* repo.createWebhook(row)), token_hash: row.token_hash, version: 1 }
})

export const newRun = (target: Target, fields: Partial<NewRun> = {}): Effect.Effect<NewRun> =>
  Effect.map(makeRunId, (run_id) => ({
    run_id,
    source: "webhook",
    webhook: {
      id: target.id,
      token_hash: target.token_hash,
      version: target.version,
      ...(target.max_queued !== undefined && { max_queued: target.max_queued }),
      ...(target.rate !== undefined && { rate: target.rate }),
      ...(target.budget && { budget: target.budget })
    },
    team: target.team,
    mode: "async",
    prompt: "Deploy api",
    variables: { service: "api" },
    timeout: minute,
    accepted_at: at(0),
    ...fields
  }))

export const newMessage = (fields: Partial<NewRun> = {}): Effect.Effect<NewRun> =>
  Effect.map(makeRunId, (run_id) => ({
    run_id,
    source: "chat",
    team: ops,
    mode: "async",
    prompt: "Hello",
    variables: {},
    timeout: minute,
    accepted_at: at(0),
    ...fields
  }))

/** As many agents may work as there are teams. */
export const manySlots: SlotLimits = { total: 1_000_000, webhooks: new Map() }
/** No run of a webhook is admitted. */
export const noSlots: SlotLimits = { total: 0, webhooks: new Map() }

/** One step, at `ms`. */
export const step = (input: StepInput, options: Partial<StepOptions> = {}, ms = 0) =>
  Effect.flatMap(Repo, (repo) => repo.step(input, { ...unlimited, at: at(ms), limits: manySlots, led: [], ...options }))

/** Accepts runs, which wait. */
export const acceptAll = (runs: ReadonlyArray<NewRun>, options: Partial<AcceptOptions> = {}) =>
  Effect.map(step({ accepts: runs }, { limits: noSlots, ...options }), ({ accepted }) => accepted)

export const acceptOne = (run: NewRun, options: Partial<AcceptOptions> = {}) =>
  Effect.flatMap(acceptAll([run], options), ([answer]) => Effect.fromResult(answer!))

/** Admits the next runs of these teams at `ms`. Returns them. */
export const admitNext = (teams: ReadonlyArray<TeamName> = [ops], options: Partial<StepOptions> = {}, ms = 0) =>
  Effect.map(step({ teams }, options, ms), ({ admitted }) => admitted.map(({ run_id }) => run_id))

/** Admits the next run of this run's team, at `ms`. Whether it is this one. */
export const admitOne = (run_id: RunId, ms = 0) =>
  Effect.gen(function* () {
    const { team } = yield* (yield* Repo).run(run_id)
    return (yield* admitNext([team], { led: [team] }, ms)).includes(run_id)
  })

/** The broker confirmed the run at `ms`. */
export const sentOne = (run_id: RunId, ms: number) =>
  Effect.flatMap(Repo, (repo) => repo.sent([{ run_id, at: at(ms) }]))

/** The leader started the run at `ms`. */
export const startedOne = (run_id: RunId, ms: number) =>
  Effect.flatMap(Repo, (repo) => repo.started([{ run_id, at: at(ms) }]))

/** Admits and ends all runs of a team's lane, one after the other. Returns them in their order. */
export const drain = (team: TeamName = ops): Effect.Effect<ReadonlyArray<RunId>, Unavailable, Repo> =>
  Effect.gen(function* () {
    const ids: Array<RunId> = []
    let { admitted } = yield* step({ teams: [team] }, { led: [team] })
    while (admitted.length > 0) {
      const ofTeam = admitted.filter((run) => run.team === team).map(({ run_id }) => run_id)
      ids.push(...ofTeam)
      const ends = ofTeam.map((run_id) => ({ run_id, outcome: success("done"), at: at(0) }))
      admitted = (yield* step({ ends }, { led: [team] })).admitted
    }
    return ids
  })

/** The names of the teams in `LaneStore.lanes`. */
export const laneTeams = Effect.flatMap(Repo, (repo) =>
  Effect.map(repo.lanes, (lanes) => lanes.map(({ team }) => team))
)

/** The runs that are out. */
export const outIds = Effect.flatMap(Repo, (repo) =>
  Effect.map(repo.out, (runs) => runs.map(({ run_id }) => run_id).sort())
)

/** The same, with all that they are sent with. */
export const outRuns = Effect.flatMap(Repo, (repo) => Effect.flatMap(outIds, repo.outRuns))

/** Ends runs. What that frees, nobody gets. */
export const endAll = (ends: ReadonlyArray<RunEnd>) =>
  Effect.map(step({ ends }, { limits: noSlots }), ({ ended }) => ended)

/** Ends one run alone, at `ms`. */
export const endOne = (run_id: RunId, outcome: Outcome, ms: number) =>
  Effect.map(endAll([{ run_id, outcome, at: at(ms) }]), ([ended]) => ended!)

export const releaseOne = (run_id: RunId, ms: number) =>
  step({ releases: [{ run_id, at: at(ms) }] }, { limits: noSlots })

/** A run in the lane. */
export const queueRun = Effect.fnUntraced(function* (target: Target, fields: Partial<NewRun> = {}) {
  const run = yield* newRun(target, fields)
  yield* acceptOne(run)
  return run.run_id
})

/** A run that the broker confirmed at `ms`. Its team must have none. */
export const sendRun = Effect.fnUntraced(function* (target: Target, ms: number, fields: Partial<NewRun> = {}) {
  const id = yield* queueRun(target, fields)
  if (!(yield* admitOne(id))) return yield* Effect.die(new Error("another run of its team is out, or before it"))
  yield* sentOne(id, ms)
  return id
})

export const statusOf = (id: RunId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.run(id)),
    (run) => run.status
  )

/** An idempotency key that is free again after a second. */
export const withKey = (key: string, request = 1) => ({
  idempotency: { key, request_hash: new Uint8Array(32).fill(request), expires_at: at(1_000) }
})

export const keyed = (target: Target, key: string, request = 1, fields: Partial<NewRun> = {}) =>
  newRun(target, { ...withKey(key, request), ...fields })

/** A refused request, received at `ms`. */
export const requestTo = (
  webhook_id: WebhookId,
  ms: number,
  fields: Partial<ReceivedRequest> = {}
): ReceivedRequest => ({
  request_id: runIdAt(epoch + ms),
  webhook_id,
  team: ops,
  received_at: at(ms),
  status: 422,
  code: "missing_variables",
  detail: "Without a value: a.",
  client_address: "192.0.2.1",
  size: 12,
  repeats: 0,
  ...fields
})
