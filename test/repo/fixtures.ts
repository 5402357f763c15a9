/** Records to fill a `Repo` with; times count in milliseconds from `epoch`. */
import { Effect } from "effect"
import { makeRunId, makeWebhookId, type RunId } from "../../src/domain/Id.ts"
import type { Outcome, Run } from "../../src/domain/Run.ts"
import { TeamName } from "../../src/domain/Team.ts"
import type { Webhook } from "../../src/domain/Webhook.ts"
import { hashToken, makeToken, type TokenHash } from "../../src/engine/Token.ts"
import { type NewRun, type NewWebhook, Repo, type Term } from "../../src/repo/Repo.ts"

export const epoch = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
export const at = (ms: number): Date => new Date(epoch + ms)

export const team = (name: string): TeamName => TeamName.make(name)
export const success = (response: string): Outcome => ({ status: "success", response })
export const failure = (message: string): Outcome => ({ status: "error", error: { code: "agent_error", message } })
export const timeout: Outcome = { status: "timeout" }

export const ops = team("ops")
export const plenty = { max_queued: 1_000_000 }

export type Hook = Webhook & { readonly token_hash: TokenHash }

export const makeHook = Effect.fnUntraced(function* (fields: Partial<NewWebhook> = {}) {
  const repo = yield* Repo
  const token_hash = hashToken(yield* makeToken)
  yield* Effect.ignore(repo.createTeam(fields.team ?? ops, at(0)))
  const webhook = yield* repo.createWebhook({
    id: yield* makeWebhookId,
    name: "deploy",
    team: ops,
    prompt_template: "Deploy {{service}}",
    variables: ["service"],
    enabled: true,
    token_hash,
    token_hint: "…x7Qa",
    created_at: at(0),
    ...fields
  })
  return { ...webhook, token_hash: fields.token_hash ?? token_hash }
})

export const newRun = (hook: Hook, fields: Partial<NewRun> = {}): Effect.Effect<NewRun> =>
  Effect.map(makeRunId, (run_id) => ({
    run_id,
    source: "webhook",
    webhook: { id: hook.id, token_hash: hook.token_hash },
    team: hook.team,
    mode: "async",
    prompt: "Deploy api",
    variables: { service: "api" },
    timeout_ms: 60_000,
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
    timeout_ms: 60_000,
    accepted_at: at(0),
    ...fields
  }))

/** A run in the lane. */
export const queue = Effect.fnUntraced(function* (hook: Hook, fields: Partial<NewRun> = {}) {
  const run = yield* newRun(hook, fields)
  yield* (yield* Repo).accept(run, plenty)
  return run.run_id
})

/** A term as the dispatcher; whoever had one before gives it up. */
export const takeTerm = Effect.gen(function* () {
  const repo = yield* Repo
  for (;;) {
    const term = yield* repo.acquireLease("test", 60_000)
    if (term._tag === "Some") return term.value
    yield* Effect.dieMessage("the lease is held")
  }
})

/** A run that the broker has taken at `sentAt`. */
export const send = Effect.fnUntraced(function* (hook: Hook, term: number, sentAt: Date, fields: Partial<NewRun> = {}) {
  const repo = yield* Repo
  const id = yield* queue(hook, fields)
  yield* repo.admit([id], term)
  yield* repo.sent(id, sentAt)
  return id
})

export const statusOf = (id: RunId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.run(id)),
    (run: Run) => run.status
  )

/** Whether the run may be sent. */
export const admit = (id: RunId, term: Term) =>
  Effect.flatMap(Repo, (repo) => Effect.map(repo.admit([id], term), (admitted) => admitted.has(id)))
