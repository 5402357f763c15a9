/**
 * One comment for all runs of an issue, which is updated. Its ID is remembered; without that, it is found by a hidden marker. The
 * start of a run is a reaction to the issue.
 */
import { createHmac } from "node:crypto"
import { Duration, Effect, Predicate } from "effect"
import { startEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { type Answer, asJson, isSuccess, jsonOf, NoAnswer } from "../../egress/Poster.ts"
import type { Dialect } from "../../markdown/Markdown.ts"
import { commentOf, contentOf, contentWith } from "./Comment.ts"
import type { Access, Message, Send, Sender, Sent } from "./Sender.ts"

/** An attempt, with all its requests. */
const timeLimit = Duration.seconds(15)
const pageSize = 50
const maxPages = 20
/** Bytes of a page of comments. */
const ofPage = 8 * 1024 * 1024
/** Bytes of the answer to a new comment or reaction, which repeats it. */
const ofComment = 512 * 1024

/** How a service has comments. */
export interface CommentService {
  readonly name: "github" | "gitlab"
  readonly dialect: Dialect
  readonly headers: (token: string) => Readonly<Record<string, string>>
  /** The URL of the comments; `undefined`: the target is none of this service. */
  readonly comments: (url: string, target: string) => string | undefined
  /** The URL of the repository or project. */
  readonly place: (url: string, target: string) => string
  /** Has them listed oldest first, if they are not anyway. */
  readonly order?: string
  /** The URL of one of them. */
  readonly comment: (url: string, target: string, id: number | string) => string
  readonly update: "PATCH" | "PUT"
  /** How the reaction 👀 is added to what the comments are of. */
  readonly reaction: {
    readonly url: (url: string, target: string) => string
    readonly body: object
    /** The answer to another one of the same user, if that is no success. */
    readonly isRepeated?: (answer: Answer) => boolean
  }
  /** The service reports reactions, with their author. */
  readonly reportsAuthors?: true
  /** The required form of `target`, for people. */
  readonly form: string
}

interface Comment {
  readonly id: number
  readonly body: string
}

/**
 * Nobody else can make it for another issue, so a comment with it is the server's. Test messages have a comment of their own: the
 * one of the runs stays as it is.
 */
const markerOf = ({ id, secrets: [token] }: Access, { isTest, target }: Pick<Message, "isTest" | "target">): string =>
  `<!-- webhook-trigger ${createHmac("sha256", token ?? "")
    .update(`${isTest ? "test " : ""}${id} ${target.trim()}`)
    .digest("hex")
    .slice(0, 32)} `

const isComment = (value: unknown): value is Comment =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as Comment).id === "number" &&
  typeof (value as Comment).body === "string"

/** GitHub's secondary rate limits come without a header; then it asks for a minute. */
const withPause = (answer: Answer): Answer =>
  answer.retryAfter === undefined && answer.http_status === 403 && answer.answer.includes("secondary rate limit")
    ? { ...answer, retryAfter: Duration.minutes(1) }
    : answer

/** The author of the reaction or comment in an answer. */
const authorIn = (answer: Answer, { name, reportsAuthors }: CommentService): Pick<Sent, "authors"> => {
  const json = jsonOf(answer)
  const { author, user = author } = Predicate.isReadonlyObject(json) ? json : {}
  const id = Predicate.isReadonlyObject(user) ? user.id : undefined
  return reportsAuthors && id !== undefined ? { authors: [`${name} ${id}`] } : {}
}

/** A target with a name after the number: few runs have it, so its comment is not remembered. */
const isNamed = /\d\/[^/!#]+$/

interface Place extends Pick<CommentService, "comment" | "order"> {
  readonly comments: string
  readonly headers: Readonly<Record<string, string>>
  /** The ID of the comment, if it is known. */
  readonly known: string | undefined
  readonly marker: string
  readonly target: string
  readonly url: string
}

/** The comment, if there is one; or the answer of a service that did not show whether there is. */
const find = (
  { comment, comments, headers, known, marker, order = "", target, url }: Place,
  send: Send
): Effect.Effect<Sent | { readonly own: Comment | undefined; readonly answer: Answer }, NoAnswer> =>
  Effect.gen(function* () {
    const isOwn = (value: unknown): value is Comment => isComment(value) && value.body.startsWith(marker)
    if (known !== undefined) {
      const answer = yield* send({ method: "GET", url: comment(url, target, known), headers, read: ofComment })
      const own = jsonOf(answer)
      if (isSuccess(answer) && isOwn(own)) return { own, answer }
      // Deleted, or of another token. Others say nothing about the comment.
      if (!isSuccess(answer) && answer.http_status !== 404 && answer.http_status !== 410) return answer
    }
    for (let page = 1; ; page++) {
      const answer = yield* send({
        method: "GET",
        url: `${comments}?${order}per_page=${pageSize}&page=${page}`,
        headers,
        read: ofPage
      })
      if (!isSuccess(answer)) return answer
      const listed = jsonOf(answer)
      if (!Array.isArray(listed)) return { ...answer, fault: "the list of comments could not be read" }
      const own = listed.find(isOwn)
      if (own !== undefined || listed.length < pageSize || page === maxPages) return { own, answer }
    }
  })

export const stickyComment =
  (service: CommentService): Sender =>
  (message, access, { send: post, show }) =>
    Effect.gen(function* () {
      const send: Send = (request) => Effect.map(post(request), withPause)
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
      const { isTest } = message
      const marker = markerOf(access, message)
      const known = isTest ? undefined : access.comment
      const found = yield* find({ ...service, comments, headers, known, marker, target, url }, send)
      if ("http_status" in found) return found.http_status === 404 ? yield* unseen(found) : found
      const { own } = found
      const text = yield* show(service.name, message)
      const content = contentWith(
        { ...message, text },
        service.dialect,
        isTest ? undefined : own && contentOf(own.body, marker)
      )
      if (content === undefined) return { ...found.answer, answer: "The comment has the answer of a later run." }
      const method = own === undefined ? "POST" : service.update
      const written = yield* send({
        ...(method !== "POST" && { method }),
        url: own === undefined ? comments : service.comment(url, target, own.id),
        headers: { ...headers, ...asJson },
        body: JSON.stringify({ body: commentOf(content, marker, access.sign) }),
        read: ofComment
      })
      const created: unknown = isSuccess(written) ? jsonOf(written) : undefined
      const id = own?.id ?? (Predicate.hasProperty(created, "id") ? created.id : undefined)
      const isNews = id !== undefined && String(id) !== access.comment && !isTest && !isNamed.test(target)
      return { ...withAuthor(written), ...(isNews && { comment_id: String(id) }) }
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeLimit,
        orElse: () => Effect.fail(new NoAnswer({ reason: `no answer within ${Duration.format(timeLimit)}` }))
      })
    )
