/** Who may cancel a run, for people, as in "Cancelled by the caller". Plain data, like `RunStatus.ts`. */
export const cancellerNames = {
  caller: "the caller",
  admin_key: "a program with the admin key",
  api_key: "a program with an API key",
  session: "a user of the web UI",
  host: "the server's program",
  denied: "the person who denied it",
  approval_expired: "the server, as nobody approved it in time"
} as const

export type CancelledBy = keyof typeof cancellerNames

export const cancellers = Object.keys(cancellerNames) as [CancelledBy, ...Array<CancelledBy>]
