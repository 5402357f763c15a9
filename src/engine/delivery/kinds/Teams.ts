import { Effect } from "effect"
import { asJson } from "../../egress/Poster.ts"
import type { Sender } from "./Sender.ts"

export const teams: Sender = (message, { url }, { send, show }) =>
  Effect.flatMap(show("teams", message), (card) => send({ url, headers: asJson, body: JSON.stringify(card) }))
