/** Makes a server what the files ask for. */
import { closeSync, openSync, writeSync } from "node:fs"
import { DateTime, Effect, type Scope } from "effect"
import type { Client } from "../../api/Client.ts"
import { mayDo, type Role } from "../../domain/access/Roles.ts"
import type { AlertRuleDraft, AlertRuleEdit } from "../../domain/alert/AlertRule.ts"
import type { DestinationDraft, DestinationEdit } from "../../domain/delivery/Destination.ts"
import type { TeamDraft } from "../../domain/Team.ts"
import type { WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { isDeletion, limitedDestination, limitedRule, withDeletionsLast } from "./Limits.ts"
import { reference } from "./RulePlan.ts"
import type { Fields } from "./SecretReferences.ts"
import type { DestinationStep, Plan, RuleStep, WebhookStep } from "./Steps.ts"

/** What is shown only once: a webhook's token, or the signing secret of a destination. */
export type NewSecret =
  | { readonly webhook: string; readonly id: string; readonly token: string; readonly trigger_url: string }
  | { readonly webhook: string; readonly destination: string; readonly id: string; readonly secret: string }
  | { readonly alert_destination: string; readonly id: string; readonly secret: string }

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

const conflict = (what: string) =>
  new Failure({
    exit: exitCodes.refused,
    title: `${what} edited since the comparison`,
    detail: "run the command again"
  })

/** Known before the first change, and not after all others. */
const needsAdmin = (role: Role) =>
  new Failure({
    exit: exitCodes.refused,
    title: "Teams are created and deleted by the role `admin` only",
    detail: `this key has the role \`${role}\`; nothing was changed`
  })

/** Objects without a version are read again before the first change. */
const unlessEdited = <A extends { readonly id: string; readonly updated_at: DateTime.Utc }, E, R>(
  steps: ReadonlyArray<{ readonly action: string; readonly before: A | undefined }>,
  read: Effect.Effect<{ readonly data: ReadonlyArray<A> }, E, R>,
  what: string
) =>
  Effect.gen(function* () {
    if (steps.every(({ action }) => action === "keep" || action === "create")) return
    const { data } = yield* read
    const isEdited = steps.some(({ before }) => {
      const now = data.find(({ id }) => id === before?.id)
      return before && !(now && DateTime.Equivalence(now.updated_at, before.updated_at))
    })
    if (isEdited) return yield* conflict(what)
  })

export const apply = Effect.fn("Cli.applyConfig")(function* (client: Client, plan: Plan, keep: Keep) {
  const { alertDestinations, alertRules, teams, webhooks } = plan
  /** The IDs of new objects that others refer to. */
  const created = new Map<string, string>()

  const destinationOf = (
    webhook: { readonly id: string; readonly name: string } | undefined,
    step: DestinationStep
  ) => {
    const owner = webhook && { id: webhook.id }
    const requests = webhook === undefined ? client.alertDestinations : client.destinations
    const params = { ...owner, destination_id: step.before?.id ?? "" }
    switch (step.action) {
      case "create":
        return Effect.flatMap(
          requests.create({ params: { ...owner }, payload: step.payload as DestinationDraft }),
          ({ destination: { id }, secret }) => {
            const name = step.name
            if (webhook === undefined) {
              created.set(reference({ kind: "destination", name, id: undefined, fileId: step.wanted?.id }), id)
            }
            if (secret === undefined) return Effect.void
            return keep({
              ...(webhook ? { webhook: webhook.name, destination: name } : { alert_destination: name }),
              id,
              secret
            })
          }
        )
      case "change":
        return requests.edit({ params, payload: step.payload as DestinationEdit })
      case "delete":
        return requests.delete({ params })
      case "keep":
        return Effect.void
    }
  }

  const webhook = (step: WebhookStep) =>
    Effect.gen(function* () {
      const { before, destinations, name, payload } = step
      const at = { params: { id: before?.id ?? "" }, headers: { "if-match": `"${before?.version}"` } }
      let { id } = at.params
      if (before !== undefined && step.action !== "delete") {
        yield* unlessEdited(destinations, client.destinations.list({ params: { id } }), `The webhook ${name} was`)
      }
      switch (step.action) {
        case "create": {
          const draft = withIds(payload) as WebhookDraft
          const { token, trigger_url, webhook } = yield* client.webhooks.create({ payload: draft })
          id = webhook.id
          created.set(reference({ kind: "webhook", name, id: undefined, fileId: step.wanted?.id }), id)
          if (token !== undefined && trigger_url !== undefined) yield* keep({ webhook: name, id, token, trigger_url })
          break
        }
        case "change":
          yield* client.webhooks.edit({ ...at, payload: withIds(payload) as WebhookEdit })
          break
        case "delete":
          yield* client.webhooks.delete(at)
          break
        case "keep":
      }
      const ordered = withDeletionsLast(destinations.map(limitedDestination)).flat()
      for (const each of ordered) yield* destinationOf({ id, name }, each)
    }).pipe(Effect.catchIf(isConflict, () => conflict(`The webhook ${step.name} was`)))

  const withIds = ({ destination_ids, shares, webhook_id, ...fields }: Fields): Fields => {
    const idOf = (reference: unknown) => created.get(reference as string) ?? reference
    return {
      ...fields,
      ...(shares !== undefined && { shares: idOf(shares) }),
      ...(webhook_id !== undefined && { webhook_id: idOf(webhook_id) }),
      ...(destination_ids !== undefined && {
        destination_ids: (destination_ids as ReadonlyArray<string> | null)?.map(idOf) ?? null
      })
    }
  }

  const rule = ({ action, before, payload }: RuleStep) => {
    const params = { rule_id: before?.id ?? "" }
    switch (action) {
      case "create":
        return client.alerts.createRule({ payload: withIds(payload) as AlertRuleDraft })
      case "change":
        return client.alerts.editRule({ params, payload: withIds(payload) as AlertRuleEdit })
      case "delete":
        return client.alerts.deleteRule({ params })
      case "keep":
        return Effect.void
    }
  }

  const [destinationSteps, oldDestinations] = withDeletionsLast(alertDestinations.map(limitedDestination))
  const [ruleSteps, oldRules] = withDeletionsLast(alertRules.map(limitedRule))

  if (teams.some(({ action }) => action === "create" || action === "delete")) {
    const { role } = yield* client.apiKeys.current()
    if (!mayDo(role, "administer")) return yield* needsAdmin(role)
  }
  yield* unlessEdited(alertDestinations, client.alertDestinations.list({ params: {} }), "The alert destinations were")
  yield* unlessEdited(alertRules, client.alerts.rules(), "The alert rules were")
  for (const { action, payload } of teams) {
    if (action === "create") yield* client.teams.create({ payload: payload as typeof TeamDraft.Type })
  }
  const ofOwnUrls = webhooks.filter(({ before, wanted }) => (wanted?.fields ?? before)?.shares === undefined)
  const ofSharedUrls = webhooks.filter((step) => !ofOwnUrls.includes(step))
  for (const step of [...ofOwnUrls, ...ofSharedUrls]) if (!isDeletion(step)) yield* webhook(step)
  for (const step of destinationSteps) yield* destinationOf(undefined, step)
  for (const step of [...ruleSteps, ...oldRules]) yield* rule(step)
  for (const step of oldDestinations) yield* destinationOf(undefined, step)
  // Deleting a webhook or team also deletes its rules.
  for (const step of [...ofSharedUrls, ...ofOwnUrls].filter(isDeletion)) yield* webhook(step)
  // A team can be deleted once no webhook uses it.
  for (const { action, name } of teams) {
    if (action === "delete") yield* client.teams.delete({ params: { team: name } })
  }
})

const isConflict = (error: unknown): error is { readonly status: 412 } =>
  typeof error === "object" && error !== null && "status" in error && error.status === 412
