import { Context, Effect, Layer } from "effect"
import type { SlotLimits } from "../../repo/run/RunStore.ts"
import { Settings } from "../Settings.ts"

/**
 * How many agents may be at work: a run of a webhook holds a slot from its admission until it is released. A webhook's own
 * `max_concurrent` limits its runs instead of the total, and may be higher. The database counts, over all servers
 * (`RunStore.step`); a host says how many, with each step.
 */
export class Limiter extends Context.Service<Limiter, { readonly limits: () => SlotLimits }>()(
  "webhook-trigger/Limiter"
) {
  /** `WEBHOOK_MAX_CONCURRENT`. */
  static readonly layer: Layer.Layer<Limiter, never, Settings> = Layer.effect(
    Limiter,
    Effect.map(Settings, ({ maxConcurrent }) => {
      const limits: SlotLimits = { total: maxConcurrent, webhooks: new Map() }
      return { limits: () => limits }
    })
  )
}
