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

export type CancelledBy = keyof typeof cancellerNames

/** Not by somebody: what came later made the run needless, so it must not start again. */
export const isOvertaken = ({ cancelled_by }: { readonly cancelled_by?: CancelledBy }): boolean =>
  cancelled_by === "superseded" || cancelled_by === "event"

export const cancellers = Object.keys(cancellerNames) as [CancelledBy, ...Array<CancelledBy>]
