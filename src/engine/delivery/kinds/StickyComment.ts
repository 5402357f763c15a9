/** One comment for all runs of an issue: found by a hidden marker, and updated. The start of a run is a reaction to the issue. */
import { createHmac } from "node:crypto"
import { Duration, Effect, Predicate } from "effect"
import { startEvent } from "../../../domain/delivery/DestinationEvent.ts"
import type { Dialect } from "../markdown/Markdown.ts"
import { toBlocks } from "../markdown/Markdown.ts"
import { toParts } from "../markdown/Parts.ts"
import { type Answer, NoAnswer } from "../Poster.ts"
import { headOf, type Sign } from "../Signature.ts"
import { type Access, asJson, isSuccess, jsonOf, type Message, type Send, type Sent } from "./Sender.ts"

/** An attempt, with all its requests. */
const timeLimit = Duration.seconds(15)
const pageSize = 50
const maxPages = 10
/** Bytes of a page of comments. */
const ofPage = 8 * 1024 * 1024
/** Bytes of the answer to a new comment or reaction, which repeats it. */
const ofComment = 512 * 1024

/** How a service has comments. */
export interface CommentService {
  readonly dialect: Dialect
  /** Characters of a comment. */
  readonly maxLength: number
  readonly headers: (token: string) => Readonly<Record<string, string>>
  /** The URL of the comments; `undefined`: the target is none of this service. */
  readonly comments: (url: string, target: string) => string | undefined
  /** The URL of the repository or project. */
  readonly place: (url: string, target: string) => string
  /** Has them listed oldest first, if they are not anyway. */
  readonly order?: string
  /** The URL of one of them. */
  readonly comment: (url: string, target: string, id: number) => string
  readonly update: "PATCH" | "PUT"
  /** How the reaction 👀 is added to what the comments are of. */
  readonly reaction: {
    readonly url: (url: string, target: string) => string
    readonly body: object
    /** The answer to another one of the same user, if that is no success. */
    readonly isRepeated?: (answer: Answer) => boolean
  }
  /** Under which name the service reports the author's reactions, if it does. */
  readonly author?: string
  /** What `target` must be, for people. */
  readonly form: string
}

interface Comment {
  readonly id: number
  readonly body: string
}

/** Nobody else can make it for another issue, so a comment with it is the server's. */
const markerOf = ({ id, secrets: [token] }: Access, target: string): string =>
  `<!-- webhook-trigger ${createHmac("sha256", token ?? "")
    .update(`${id} ${target}`)
    .digest("hex")
    .slice(0, 32)} `

/** The comment; its marker also has the time of the run's end. */
export const commentBody = (
  { body, finishedAt }: Pick<Message, "body" | "finishedAt">,
  marker: string,
  { dialect, maxLength }: Pick<CommentService, "dialect" | "maxLength">,
  sign: Sign
): string => {
  const shown = body.slice(0, maxLength)
  const size = maxLength - 200
  const { isCut, parts } = toParts(toBlocks(shown, dialect), { count: 1, dialect, size })
  const note = isCut || shown.length < body.length ? "\n\n_The answer is longer._" : ""
  const text = `${parts[0] ?? ""}${note}`
  return `${headOf(`${marker}${finishedAt}`, text, sign)}${text}`
}

const isComment = (value: unknown): value is Comment =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as Comment).id === "number" &&
  typeof (value as Comment).body === "string"

/** The author of the reaction or comment in an answer. */
const authorIn = (answer: Answer, { author: service }: CommentService): Pick<Sent, "authors"> => {
  const json = jsonOf(answer)
  const { author, user = author } = Predicate.isReadonlyRecord(json) ? json : {}
  const id = Predicate.isReadonlyRecord(user) ? user.id : undefined
  return service !== undefined && id !== undefined ? { authors: [`${service} ${id}`] } : {}
}

export const stickyComment =
  (service: CommentService) =>
  (message: Message, access: Access, send: Send): Effect.Effect<Sent, NoAnswer> =>
    Effect.gen(function* () {
      const { url } = access
      const target = message.target.trim()
      const comments = service.comments(url, target)
      if (comments === undefined) {
        return yield* new NoAnswer({ reason: `the target must be ${service.form}`, isOfTarget: true })
      }
      const headers = service.headers(access.secrets[0] ?? "")
      const withAuthor = (answer: Answer): Sent => ({ ...answer, ...authorIn(answer, service) })
      /** Services answer 404 for what the token may not see. */
      const unseen = (answer: Answer): Effect.Effect<Sent, NoAnswer> =>
        Effect.map(send({ method: "GET", url: service.place(url, target), headers }), ({ http_status }) =>
          http_status === 404 ? { ...answer, isPlaceHidden: true } : answer
        )
      if (message.event === startEvent) {
        const { body, isRepeated, url: reactions } = service.reaction
        const answer = yield* send({
          url: reactions(url, target),
          headers: { ...headers, ...asJson },
          body: JSON.stringify(body),
          read: ofComment
        })
        if (isRepeated?.(answer)) return { ...answer, http_status: 200 }
        return answer.http_status === 404 ? yield* unseen(answer) : withAuthor(answer)
      }
      const marker = markerOf(access, target)
      const write = (method: "POST" | "PATCH" | "PUT", to: string) =>
        Effect.map(
          send({
            ...(method !== "POST" && { method }),
            url: to,
            headers: { ...headers, ...asJson },
            body: JSON.stringify({ body: commentBody(message, marker, service, access.sign) }),
            read: ofComment
          }),
          withAuthor
        )

      for (let page = 1; page <= maxPages; page++) {
        const answer = yield* send({
          method: "GET",
          url: `${comments}?${service.order ?? ""}per_page=${pageSize}&page=${page}`,
          headers,
          read: ofPage
        })
        if (answer.http_status === 404) return yield* unseen(answer)
        if (!isSuccess(answer)) return answer
        const found = jsonOf(answer)
        if (!Array.isArray(found)) return { ...answer, fault: "the list of comments could not be read" }
        const own = found.filter(isComment).find(({ body }) => body.startsWith(marker))
        if (own !== undefined) {
          // An attempt that comes late must not replace a newer answer.
          const at = Number(/^\d+/.exec(own.body.slice(marker.length))?.[0] ?? 0)
          if (at > message.finishedAt) return { ...answer, answer: "The comment has the answer of a later run." }
          return yield* write(service.update, service.comment(url, target, own.id))
        }
        if (found.length < pageSize) break
      }
      return yield* write("POST", comments)
    }).pipe(
      Effect.timeoutFail({
        duration: timeLimit,
        onTimeout: () => new NoAnswer({ reason: `no answer within ${Duration.format(timeLimit)}` })
      })
    )
