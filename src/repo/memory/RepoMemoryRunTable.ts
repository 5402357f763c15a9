import type { RunId, WebhookId } from "../../domain/Id.ts"
import { isFinal } from "../../domain/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { RunRow } from "../RunRow.ts"

export type StoredRun = { -readonly [K in keyof RunRow]: RunRow[K] } & {
  /** The order of acceptance. */
  readonly seq: number
  readonly idempotency?: { readonly key: string; readonly request_hash: Uint8Array; readonly expires_at: number }
}

/** Runs in order of acceptance, with the indexes that keep every question cheap however many runs there are. */
export class RunTable {
  #seq = 0
  readonly #byId = new Map<RunId, StoredRun>()
  readonly #byWebhook = new Map<WebhookId, Array<StoredRun>>()
  readonly #byKey = new Map<string, StoredRun>()
  readonly #lanes = new Map<TeamName, Map<RunId, StoredRun>>()
  readonly #inFlight = new Map<RunId, StoredRun>()
  #queued = 0

  get(id: RunId): StoredRun | undefined {
    return this.#byId.get(id)
  }

  all(): Iterable<StoredRun> {
    return this.#byId.values()
  }

  insert(fields: Omit<StoredRun, "seq">): StoredRun {
    const run: StoredRun = { ...fields, seq: ++this.#seq }
    this.#byId.set(run.id, run)
    if (run.webhook_id !== null) {
      const history = this.#byWebhook.get(run.webhook_id) ?? []
      history.push(run)
      this.#byWebhook.set(run.webhook_id, history)
      if (run.idempotency) this.#byKey.set(keyOf(run.webhook_id, run.idempotency.key), run)
    }
    this.#index(run)
    return run
  }

  update(run: StoredRun, change: Partial<Omit<RunRow, "id" | "team" | "webhook_id">>): void {
    const returns = run.admitted_at !== null && change.admitted_at === null
    this.#unindex(run)
    Object.assign(run, change)
    this.#index(run)
    if (returns) this.#sortLane(run.team)
  }

  remove(run: StoredRun): void {
    this.#unindex(run)
    this.#byId.delete(run.id)
    if (run.webhook_id === null) return
    const history = this.history(run.webhook_id).filter((other) => other !== run)
    this.#byWebhook.set(run.webhook_id, history)
    if (run.idempotency && this.withKey(run.webhook_id, run.idempotency.key) === run) {
      this.#byKey.delete(keyOf(run.webhook_id, run.idempotency.key))
    }
  }

  removeOf(webhook: WebhookId): ReadonlyArray<StoredRun> {
    const runs = this.history(webhook)
    for (const run of runs) {
      this.#unindex(run)
      this.#byId.delete(run.id)
      if (run.idempotency) this.#byKey.delete(keyOf(webhook, run.idempotency.key))
    }
    this.#byWebhook.delete(webhook)
    return runs
  }

  /** Oldest first. */
  history(webhook: WebhookId): ReadonlyArray<StoredRun> {
    return this.#byWebhook.get(webhook) ?? []
  }

  withKey(webhook: WebhookId, key: string): StoredRun | undefined {
    return this.#byKey.get(keyOf(webhook, key))
  }

  /** Queued and not admitted, oldest first. */
  lane(team: TeamName): Iterable<StoredRun> {
    return this.#lanes.get(team)?.values() ?? []
  }

  laneLength(team: TeamName): number {
    return this.#lanes.get(team)?.size ?? 0
  }

  lanes(): ReadonlyArray<TeamName> {
    return [...this.#lanes.keys()].sort()
  }

  /** Over all lanes. */
  queued(): number {
    return this.#queued
  }

  /** Admitted and not ended, oldest first. */
  inFlight(): ReadonlyArray<StoredRun> {
    return [...this.#inFlight.values()].sort(bySeq)
  }

  live(): ReadonlyArray<StoredRun> {
    return [...this.#inFlight.values(), ...[...this.#lanes.values()].flatMap((lane) => [...lane.values()])]
  }

  #index(run: StoredRun): void {
    if (isFinal(run.status)) return
    if (run.admitted_at !== null) {
      this.#inFlight.set(run.id, run)
      return
    }
    const lane = this.#lanes.get(run.team) ?? new Map<RunId, StoredRun>()
    lane.set(run.id, run)
    this.#lanes.set(run.team, lane)
    this.#queued++
  }

  #unindex(run: StoredRun): void {
    this.#inFlight.delete(run.id)
    const lane = this.#lanes.get(run.team)
    if (!lane?.delete(run.id)) return
    this.#queued--
    if (lane.size === 0) this.#lanes.delete(run.team)
  }

  #sortLane(team: TeamName): void {
    const lane = this.#lanes.get(team)
    if (lane) this.#lanes.set(team, new Map([...lane].sort(([, a], [, b]) => bySeq(a, b))))
  }
}

const keyOf = (webhook: WebhookId, key: string) => `${webhook} ${key}`
const bySeq = (a: StoredRun, b: StoredRun) => a.seq - b.seq
