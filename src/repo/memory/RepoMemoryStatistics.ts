import { Effect } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { isFinal } from "../../domain/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { RunBucket } from "../Repo.ts"
import { toRun } from "../RunRow.ts"
import type { StoredRun } from "./RepoMemoryRunTable.ts"
import type { Tables } from "./RepoMemoryTables.ts"

/** The part of the memory `Repo` that counts runs. */
export const makeStatistics = ({ webhooks, runs }: Tables) => {
  /** Runs by webhook and by step of time since `since`. */
  const grouped = (all: Iterable<StoredRun>, since: Date, step_ms: number) => {
    const groups = new Map<string, Array<StoredRun>>()
    for (const run of all) {
      if (run.webhook_id === null || run.accepted_at < since) continue
      const bucket = Math.floor((run.accepted_at.getTime() - since.getTime()) / step_ms)
      const key = `${run.webhook_id} ${bucket}`
      const group = groups.get(key)
      if (group) group.push(run)
      else groups.set(key, [run])
    }
    return [...groups].map(([key, runs]) => {
      const [webhook_id, bucket] = key.split(" ")
      return { webhook_id: webhook_id as WebhookId, bucket: Number(bucket), runs }
    })
  }

  const activity = (since: Date, step_ms: number) =>
    Effect.sync(() =>
      grouped(runs.all(), since, step_ms).map(({ webhook_id, bucket, runs }) => ({
        webhook_id,
        bucket,
        ...counts(runs)
      }))
    )

  const statistics = (id: WebhookId, since: Date, step_ms: number) =>
    Effect.sync(() =>
      grouped(runs.history(id), since, step_ms).map(
        ({ bucket, runs }): RunBucket => ({ bucket, ...counts(runs), ...durations(runs) })
      )
    )

  const slots = (id: WebhookId) =>
    Effect.sync(() => {
      const live = runs.history(id).filter((run) => !isFinal(run.status))
      const slots_in_use = live.filter((run) => run.admitted_at !== null).length
      return { slots_in_use, queued: live.length - slots_in_use }
    })

  const teamRuns = (team: TeamName, limit: number) =>
    Effect.sync(() =>
      [...runs.all()]
        .filter((run) => run.team === team && (run.webhook_id === null || webhooks.get(run.webhook_id)?.team === team))
        .sort((a, b) => b.seq - a.seq)
        .slice(0, limit)
        .map(toRun)
    )

  const tokenHash = (id: WebhookId) =>
    Effect.suspend(() => {
      const webhook = webhooks.get(id)
      return webhook ? Effect.succeed(webhook.token_hash) : Effect.fail(new NotFound())
    })

  return { activity, statistics, slots, teamRuns, tokenHash }
}

const counts = (runs: ReadonlyArray<StoredRun>) => {
  const of = (status: StoredRun["status"]) => runs.filter((run) => run.status === status).length
  return {
    success: of("success"),
    error: of("error"),
    timeout: of("timeout"),
    live: of("queued") + of("running")
  }
}

const durations = (runs: ReadonlyArray<StoredRun>) => {
  const sorted = runs
    .flatMap(({ status, started_at, finished_at }) =>
      status === "success" && started_at && finished_at ? Math.max(0, finished_at.getTime() - started_at.getTime()) : []
    )
    .sort((a, b) => a - b)
  if (sorted.length === 0) return {}
  const median_ms = (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2
  return { median_ms, slowest_ms: sorted.at(-1)! }
}
