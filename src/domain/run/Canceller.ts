/** Who or what may cancel a run, for people, as in "Cancelled by the caller". Plain data, like `RunStatus.ts`. */
export const cancellerNames = {
  caller: "the caller",
  admin_key: "a program with the admin key",
  api_key: "a program with an API key",
  session: "a user of the web UI",
  host: "the server's program",
  denied: "the person who denied it",
  approval_expired: "the server, as nobody approved it in time",
  superseded: "a newer run",
  event: "a later event"
} as const

type CancelledBy = keyof typeof cancellerNames

/** The run has become needless, or somebody denied it: a redelivery of its request must not start it again. */
export const staysCancelled = ["superseded", "event", "denied"] as const satisfies ReadonlyArray<CancelledBy>

export const cancellers = Object.keys(cancellerNames) as [CancelledBy, ...Array<CancelledBy>]
