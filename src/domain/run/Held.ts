/**
 * Why a queued run has no place in its team's lane yet. Each is defined once. Plain data: the web UI loads it without `Schema`.
 */

interface Hold {
  /** How people see its runs. */
  readonly phase: string
  /** Why a run waits, as a sentence. */
  readonly message: string
}

export const holds = {
  /** More requests can join it (`coalesce`). */
  window: {
    phase: "collecting",
    message: "More requests can join this run until its window closes."
  },
  webhook_paused: {
    phase: "kept",
    message: "The webhook is paused. This run is kept until the webhook is resumed."
  },
  /** Its caller, or its webhook, has named the time. */
  time: {
    phase: "scheduled",
    message: "This run is scheduled for later."
  },
  approval: {
    phase: "waits for approval",
    message: "The run waits until somebody approves or denies it."
  }
} as const satisfies { readonly [name: string]: Hold }

export type HeldFor = keyof typeof holds

export const heldFor = Object.keys(holds) as [HeldFor, ...Array<HeldFor>]

/** For so many days, a run waits for its approval. Then it is cancelled. */
export const approvalDays = 7
