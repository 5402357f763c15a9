/** An e-mail of plain text, and the same as HTML. */
import { Effect } from "effect"
import { recipientsOf } from "../../../domain/delivery/EmailAddress.ts"
import type { Sender } from "./Sender.ts"

/** Characters. */
const ofSubject = 200

/** In one line, without characters that mean something to mail programs. */
const subjectOf = (title: string): string =>
  title
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, ofSubject)
    .toWellFormed()

export const email: Sender = (message, _, { mail, show }) => {
  const { at, id, target, title } = message
  return Effect.flatMap(show("email", message), (shown) =>
    mail({ ...{ id, at, to: recipientsOf(target), subject: subjectOf(title) }, ...shown })
  )
}
