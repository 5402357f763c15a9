/** Makes a server what the files ask for. */
import { closeSync, openSync, writeSync } from "node:fs"
import { DateTime, Effect, type Scope } from "effect"
import type { Client } from "../../api/Client.ts"
import type { DestinationDraft, DestinationEdit } from "../../domain/delivery/Destination.ts"
import type { TeamDraft } from "../../domain/Team.ts"
import type { WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import type { DestinationStep, Plan, WebhookStep } from "./Steps.ts"

/** What is shown only once: a webhook's token, or the signing secret of a destination. */
export type NewSecret =
  | { readonly webhook: string; readonly id: string; readonly token: string; readonly trigger_url: string }
  | { readonly webhook: string; readonly destination: string; readonly id: string; readonly secret: string }

/** Where new tokens are kept, as soon as each is known. */
export type Keep = (secret: NewSecret) => Effect.Effect<void>

/** A new file for tokens, one JSON object on each line. Only its owner can read it. */
export const tokensFile = (path: string): Effect.Effect<Keep, Failure, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => openSync(path, "wx", 0o600),
      catch: (error) => usage(`--tokens-out: ${error instanceof Error ? error.message : String(error)}`)
    }),
    (file) => Effect.sync(() => closeSync(file))
  ).pipe(Effect.map((file) => (secret) => Effect.sync(() => void writeSync(file, `${JSON.stringify(secret)}\n`))))

const conflict = (name: string) =>
  new Failure({
    exit: exitCodes.refused,
    title: `The webhook ${name} was edited since it was compared`,
    detail: "run the command again"
  })

export const apply = Effect.fn("Cli.applyConfig")(function* (client: Client, { teams, webhooks }: Plan, keep: Keep) {
  const destination = (id: string, webhook: string, step: DestinationStep) =>
    Effect.gen(function* () {
      const path = { id, destination_id: step.before?.id ?? "" }
      switch (step.action) {
        case "create": {
          const payload = step.payload as DestinationDraft
          const created = yield* client.destinations.create({ path, payload })
          const { secret } = created
          if (secret === undefined) return
          yield* keep({ webhook, destination: step.name, id: created.destination.id, secret })
          return
        }
        case "change":
          yield* client.destinations.edit({ path, payload: step.payload as DestinationEdit })
          return
        case "delete":
          yield* client.destinations.delete({ path })
          return
        case "keep":
      }
    })

  /** Destinations have no version, so they are read again before the first change. */
  const unlessEdited = (id: string, { destinations, name }: WebhookStep) =>
    Effect.gen(function* () {
      if (destinations.every(({ action }) => action === "keep" || action === "create")) return
      const { data } = yield* client.destinations.list({ path: { id } })
      const isEdited = destinations.some(({ before }) => {
        const now = data.find(({ id }) => id === before?.id)
        return before && !(now && DateTime.Equivalence(now.updated_at, before.updated_at))
      })
      if (isEdited) return yield* conflict(name)
    })

  const webhook = (step: WebhookStep) =>
    Effect.gen(function* () {
      const { before, name, payload } = step
      const at = { path: { id: before?.id ?? "" }, headers: { "if-match": `"${before?.version}"` } }
      let { id } = at.path
      if (before !== undefined && step.action !== "delete") yield* unlessEdited(id, step)
      switch (step.action) {
        case "create": {
          const { token, trigger_url, webhook } = yield* client.webhooks.create({ payload: payload as WebhookDraft })
          id = webhook.id
          yield* keep({ webhook: name, id, token, trigger_url })
          break
        }
        case "change":
          yield* client.webhooks.edit({ ...at, payload: payload as WebhookEdit })
          break
        case "delete":
          yield* client.webhooks.delete(at)
          break
        case "keep":
      }
      for (const each of step.destinations) yield* destination(id, name, each)
    }).pipe(Effect.catchIf(isConflict, () => conflict(step.name)))

  for (const { action, payload } of teams) {
    if (action === "create") yield* client.teams.create({ payload: payload as typeof TeamDraft.Type })
  }
  for (const step of webhooks) yield* webhook(step)
  // A team can be deleted once no webhook uses it.
  for (const { action, name } of teams) {
    if (action === "delete") yield* client.teams.delete({ path: { team: name } })
  }
})

const isConflict = (error: unknown): error is { readonly status: 412 } =>
  typeof error === "object" && error !== null && "status" in error && error.status === 412
