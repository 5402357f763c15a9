/** Who may let a webhook start runs of another one, and how often. */
import { Effect } from "effect"
import { type DestinationEdit, type DestinationRow, maxChains } from "../../domain/delivery/Destination.ts"
import { Invalid, type Unavailable } from "../../domain/Errors.ts"
import { webhookIdOf } from "../../domain/ParsedId.ts"
import type { FaultBeside, Owner } from "../../repo/delivery/DestinationStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as Audit from "../access/Audit.ts"

export const make = Effect.gen(function* () {
  const webhooks = yield* WebhookStore

  /** The target, which must be a webhook that the actor may use. */
  const usable = (target: string) =>
    Effect.gen(function* () {
      const { teams } = yield* Audit.Origin
      const webhook = yield* Effect.flatMap(webhookIdOf(target), webhooks.webhook)
      return teams?.includes(webhook.team) === false ? yield* notThere : webhook
    }).pipe(Effect.catchTag("NotFound", () => notThere))

  /** The teams of the webhook and of its target. */
  const teamsOf = (owner: Owner, target: string) =>
    Effect.gen(function* () {
      if (owner === null || owner === (yield* webhookIdOf(target))) return yield* itself
      const from = yield* webhooks.webhook(owner)
      return { from: from.team, to: (yield* usable(target)).team }
    }).pipe(Effect.catchTag("NotFound", () => notThere))

  return {
    /** Whether the actor may start runs of its target, now. */
    mayStart: ({ kind, target = "", webhook_id }: DestinationRow): Effect.Effect<boolean, Unavailable> =>
      Effect.flatMap(Audit.Origin, ({ teams }) =>
        kind !== "chain" || teams === undefined
          ? Effect.succeed(true)
          : teamsOf(webhook_id ?? null, target).pipe(
              Effect.as(true),
              Effect.catchTag("Invalid", () => Effect.succeed(false))
            )
      ),
    /** The fields that a new one stores. */
    created: (owner: Owner, target: string) => Effect.map(teamsOf(owner, target), (chain_teams) => ({ chain_teams })),
    /** The fields that an edit stores. An actor who may not use the target may only switch it off, or describe it. */
    edited: ({ target = "", webhook_id }: DestinationRow, edit: DestinationEdit) =>
      Effect.gen(function* () {
        const owner = webhook_id ?? null
        const { description: _, enabled, ...rest } = edit
        if (enabled !== true && Object.keys(rest).length === 0) return {}
        const chain_teams = yield* teamsOf(owner, edit.target ?? target)
        return typeof edit.target === "string" ? { chain_teams } : {}
      })
  }
})

/** Why a webhook may not start this target, too. */
export const faultBeside =
  (target: string): FaultBeside =>
  (others) => {
    const chains = others.filter(({ kind }) => kind === "chain")
    if (chains.some((one) => one.target === target)) return twice
    return chains.length >= maxChains ? tooMany : undefined
  }

const ofTarget = (detail: string) => new Invalid({ faults: [{ pointer: "/target", detail }] })

const notThere = ofTarget("is not a webhook that you can use")

const itself = ofTarget("must be another webhook")

const twice = ofTarget("is already started by another destination of this webhook")

const tooMany = new Invalid({
  faults: [{ pointer: "/kind", detail: `chain: there may be at most ${maxChains} of a webhook` }]
})
