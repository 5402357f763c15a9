import { Context, Effect, Layer } from "effect"
import { Settings } from "../../engine/Settings.ts"

/**
 * Limits the bytes of bodies in memory, from the first byte to the end of the request. A holder (the webhook of a trigger,
 * the team of a leader's reply) may have as many as are still free: one alone gets half, two a third each, and a new one
 * always finds some. The service is the triggers' budget.
 */
export class BodyBudget extends Context.Service<
  BodyBudget,
  {
    /** False: none for this holder at the moment. */
    readonly take: (holder: string, bytes: number) => boolean
    readonly giveBack: (holder: string, bytes: number) => void
  }
>()("webhook-trigger/BodyBudget") {
  /** A budget of so many bytes. */
  static readonly make = (bytes: number): BodyBudget["Service"] => {
    const held = new Map<string, number>()
    let free = bytes
    const add = (holder: string, bytes: number) => {
      free -= bytes
      const total = (held.get(holder) ?? 0) + bytes
      if (total === 0) held.delete(holder)
      else held.set(holder, total)
    }
    return {
      take: (holder, bytes) => {
        const fits = (held.get(holder) ?? 0) + bytes <= free - bytes
        if (fits) add(holder, bytes)
        return fits
      },
      giveBack: (holder, bytes) => add(holder, -bytes)
    }
  }

  static readonly layer: Layer.Layer<BodyBudget, never, Settings> = Layer.effect(
    BodyBudget,
    // One body of any allowed size always fits. With files, it fits unless the setting leaves too little room.
    Effect.map(Settings, ({ maxBodies, maxBody }) => BodyBudget.make(Math.max(maxBodies, 2 * maxBody)))
  )
}
