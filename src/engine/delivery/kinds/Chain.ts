import type { Sender } from "./Sender.ts"

/** A run of another webhook of this server. */
export const chain: Sender = (message, { teams }, { start }) => start(message, teams)
