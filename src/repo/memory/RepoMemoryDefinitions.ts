import { Effect } from "effect"
import { NotFound, TeamExists, TeamInUse, TeamUnknown } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { isFinal } from "../../domain/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/Webhook.ts"
import type { TokenHash } from "../../engine/Token.ts"
import type { NewWebhook, TeamRecord, WebhookChange } from "../Repo.ts"
import { storable } from "../RunRow.ts"
import { type StoredWebhook, sameBytes, type Tables } from "./RepoMemoryTables.ts"

/** The part of the memory `Repo` that keeps teams and webhooks. */
export const makeDefinitions = ({ teams, webhooks, runs, publish }: Tables) => {
  const teamRecord = (team: TeamName, { created_at }: { readonly created_at: Date }): TeamRecord => ({
    team,
    queued: runs.laneLength(team),
    created_at
  })

  const createTeam = (team: TeamName, at: Date) =>
    Effect.suspend(() => {
      if (teams.has(team)) return Effect.fail(new TeamExists({ team }))
      teams.set(team, { created_at: at })
      return Effect.succeed(teamRecord(team, { created_at: at }))
    })

  const team = (name: TeamName) =>
    Effect.suspend(() => {
      const record = teams.get(name)
      return record ? Effect.succeed(teamRecord(name, record)) : Effect.fail(new NotFound())
    })

  const deleteTeam = (team: TeamName) =>
    Effect.suspend((): Effect.Effect<void, NotFound | TeamInUse> => {
      if (!teams.has(team)) return Effect.fail(new NotFound())
      const pointing = [...webhooks.values()].filter((webhook) => webhook.team === team).length
      const live = runs.live().filter((run) => run.team === team).length
      if (pointing + live > 0) return Effect.fail(new TeamInUse({ team, webhooks: pointing, live_runs: live }))
      for (const run of [...runs.all()]) if (run.team === team && run.webhook_id === null) runs.remove(run)
      teams.delete(team)
      return Effect.void
    })

  const view = ({ token_hash: _, ...webhook }: StoredWebhook): Webhook => {
    const last = runs.history(webhook.id).at(-1)
    return { ...webhook, ...(last && { last_triggered_at: last.accepted_at }) }
  }

  const createWebhook = (webhook: NewWebhook) =>
    Effect.suspend(() => {
      if (!teams.has(webhook.team)) return Effect.fail(new TeamUnknown({ team: webhook.team }))
      const stored = { ...webhook, ...keepable(webhook), updated_at: webhook.created_at }
      webhooks.set(webhook.id, stored)
      publish({ _tag: "WebhookChanged", webhook_id: webhook.id })
      return Effect.succeed(view(stored))
    })

  const webhook = (id: WebhookId) =>
    Effect.suspend(() => {
      const stored = webhooks.get(id)
      return stored ? Effect.succeed(view(stored)) : Effect.fail(new NotFound())
    })

  const webhookByToken = (hash: TokenHash) =>
    Effect.suspend(() => {
      for (const stored of webhooks.values()) {
        if (stored.enabled && sameBytes(stored.token_hash, hash)) return Effect.succeed(view(stored))
      }
      return Effect.fail(new NotFound())
    })

  const update = (id: WebhookId, change: (stored: StoredWebhook) => StoredWebhook) =>
    Effect.suspend(() => {
      const stored = webhooks.get(id)
      if (!stored) return Effect.fail(new NotFound())
      const changed = change(stored)
      webhooks.set(id, changed)
      publish({ _tag: "WebhookChanged", webhook_id: id })
      return Effect.succeed(view(changed))
    })

  const changeWebhook = (id: WebhookId, { timeout_seconds, max_concurrent, ...change }: WebhookChange, at: Date) =>
    Effect.suspend((): Effect.Effect<Webhook, NotFound | TeamUnknown> => {
      if (!webhooks.has(id)) return Effect.fail(new NotFound())
      if (change.team !== undefined && !teams.has(change.team))
        return Effect.fail(new TeamUnknown({ team: change.team }))
      return update(id, ({ timeout_seconds: timeout, max_concurrent: limit, ...stored }) => ({
        ...stored,
        ...change,
        ...keepable(change),
        ...optional("timeout_seconds", timeout_seconds === undefined ? timeout : timeout_seconds),
        ...optional("max_concurrent", max_concurrent === undefined ? limit : max_concurrent),
        updated_at: at
      }))
    })

  const replaceToken = (id: WebhookId, token: { readonly hash: TokenHash; readonly hint: string }, at: Date) =>
    update(id, (stored) => ({ ...stored, token_hash: token.hash, token_hint: token.hint, updated_at: at }))

  const deleteWebhook = (id: WebhookId) =>
    Effect.suspend(() => {
      if (!webhooks.delete(id)) return Effect.fail(new NotFound())
      const unfinished: ReadonlyArray<RunId> = runs
        .removeOf(id)
        .filter((run) => !isFinal(run.status))
        .map((run) => run.id)
      publish({ _tag: "WebhookChanged", webhook_id: id })
      for (const run_id of unfinished) publish({ _tag: "RunEnded", run_id })
      return Effect.succeed(unfinished)
    })

  return {
    createTeam,
    teams: Effect.sync(() =>
      [...teams].map(([name, record]) => teamRecord(name, record)).sort(by((record) => record.team))
    ),
    team,
    deleteTeam,
    createWebhook,
    webhooks: Effect.sync(() => [...webhooks.values()].map(view).sort(by((webhook) => webhook.name.toLowerCase()))),
    webhook,
    webhookByToken,
    changeWebhook,
    replaceToken,
    deleteWebhook
  }
}

const keepable = ({ name, prompt_template }: WebhookChange) => ({
  ...(name !== undefined && { name: storable(name) }),
  ...(prompt_template !== undefined && { prompt_template: storable(prompt_template) })
})

const optional = <K extends string>(key: K, value: number | null | undefined): { readonly [P in K]?: number } =>
  (value === null || value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: number }

const by =
  <A>(key: (a: A) => string) =>
  (a: A, b: A): number =>
    key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0
