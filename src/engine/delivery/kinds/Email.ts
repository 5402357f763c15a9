/** An e-mail of plain text, and the same as HTML. */
import { recipientsOf } from "../../../domain/delivery/EmailAddress.ts"
import type { Email } from "../mail/Mailer.ts"
import { plain } from "../markdown/Dialects.ts"
import { toHtml } from "../markdown/Html.ts"
import { toBlocks } from "../markdown/Markdown.ts"
import type { Message, Sender } from "./Sender.ts"

/** Characters. */
const ofSubject = 200
const ofText = 256 * 1024

/** In one line, without characters that mean something to mail programs. */
const subjectOf = (title: string): string =>
  title
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, ofSubject)
    .toWellFormed()

export const emailOf = ({ at, body, id, page, target, title }: Message): Email => {
  const more = page === undefined ? "" : ` ${page}`
  const shown =
    body.length <= ofText ? body : `${body.slice(0, ofText).toWellFormed()}\n\n*The answer is longer.*${more}`
  return {
    ...{ id, at, to: recipientsOf(target), subject: subjectOf(title) },
    text: toBlocks(shown, plain)
      .map(({ text }) => text)
      .join("\n\n"),
    html: toHtml(shown)
  }
}

export const email: Sender = (message, _, __, mail) => mail(emailOf(message))
