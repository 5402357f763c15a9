import type { Sender } from "./Sender.ts"

/** A run of another webhook of this server. */
export const chain: Sender = (message, { teams }, _, __, start) => start(message, teams)
