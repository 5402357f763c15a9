/**
 * Why a queued run has no place in its team's lane yet. Each is defined once. Plain data: the web UI loads it without `Schema`.
 */

interface Hold {
  /** How people see its runs. */
  readonly phase: string
  /** Why a run waits, as a sentence. */
  readonly message: string
  /** Whether somebody may start its runs early. */
  readonly endsEarly: boolean
}

export const holds = {
  /** More requests can join it (`coalesce`). */
  window: {
    phase: "collecting",
    message: "More requests can join this run until its window closes.",
    endsEarly: true
  },
  webhook_paused: {
    phase: "kept",
    message: "The webhook is paused. This run is kept until the webhook is resumed.",
    endsEarly: false
  },
  /** Its caller has named the time, or its webhook was just resumed. */
  time: {
    phase: "scheduled",
    message: "This run is scheduled for later.",
    endsEarly: true
  },
  approval: {
    phase: "waits for approval",
    message: "The run waits until somebody approves or denies it.",
    endsEarly: false
  }
} as const satisfies { readonly [name: string]: Hold }

export type HeldFor = keyof typeof holds

/** Whether somebody may start the run early. */
export const mayStartEarly = ({ held_for }: { readonly held_for?: HeldFor | undefined }): boolean =>
  held_for !== undefined && holds[held_for].endsEarly

export const heldFor = Object.keys(holds) as [HeldFor, ...Array<HeldFor>]

/** For so many days, a run waits for its approval. Then it is cancelled. */
export const approvalDays = 7
