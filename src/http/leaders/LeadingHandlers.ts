import { Duration, Effect, Option } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import {
  CallingKey,
  FileDraft,
  LeaveDraft,
  longestWait,
  NextDraft,
  type ReplyType,
  replyTypes,
  WorkDraft
} from "../../api/Leading.ts"
import { maxReplyBody, promptBody, readReply } from "../../bus/Bodies.ts"
import { BodyTooLarge, Invalid } from "../../domain/Errors.ts"
import type { JsonObject } from "../../domain/request/Payload.ts"
import { readProgress } from "../../domain/run/Progress.ts"
import { maxFile } from "../../domain/run/RunFile.ts"
import { validate } from "../../domain/Validation.ts"
import { HttpLeaders, type HttpReply } from "../../engine/reply/HttpLeaders.ts"
import * as Body from "../request/Body.ts"
import { BodyBudget } from "../request/BodyBudget.ts"
import { refusing } from "../request/Handlers.ts"
import * as RequestFacts from "../request/RequestFacts.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The maximum size of a body other than a reply's, in bytes. */
const shortBody = 16 * 1024

/** The maximum size of all replies that are being received or recorded, in bytes. */
const allReplies = 4 * maxReplyBody

/** Fields that a later release may have added are ignored. */
const known = (body: JsonObject, fields: object): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(fields, name)))

const decodeNext = validate(NextDraft)
const decodeWork = validate(WorkDraft)
const decodeFile = validate(FileDraft)
const decodeLeave = validate(LeaveDraft)

const invalid = (field: string, detail: string) => new Invalid({ faults: [{ pointer: `/${field}`, detail }] })

const isReplyType = (type: unknown): type is ReplyType => (replyTypes as ReadonlyArray<unknown>).includes(type)

const readBody = (type: ReplyType, body: JsonObject): Effect.Effect<HttpReply, Invalid> => {
  switch (type) {
    case "file":
    case "started":
    case "response":
    case "error":
    case "discarded": {
      const reply = readReply(type, body)
      if (reply !== undefined) return Effect.succeed(reply)
      if (type === "file") return invalid("content", `must be up to ${maxFile} bytes in Base64, with a name and an n`)
      return invalid(type === "error" ? "message" : "response", "must be a text")
    }
    case "progress": {
      const progress = readProgress(body)
      return progress === undefined
        ? invalid("seq", "must be a whole number, together with a text, an activity or a step")
        : Effect.succeed({ _tag: "Progress", progress })
    }
    case "rejected":
      return Effect.succeed({ _tag: "Rejected" })
  }
}

/** No setting changes these limits. */
const fixed = <A, E, R>(read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.mapError(read, (error) =>
    error instanceof BodyTooLarge
      ? (new BodyTooLarge({ limit_bytes: error.limit_bytes, is_fixed: true }) as E & BodyTooLarge)
      : error
  )

export const layer = HttpApiBuilder.group(Api, "leader", (handlers) =>
  Effect.gen(function* () {
    const leaders = yield* HttpLeaders
    const budget = BodyBudget.make(allReplies)

    const read = (request: Request, fields: object) =>
      Effect.map(fixed(Body.readObject(request, shortBody)), (body) => known(body, fields))

    /** Calls `use` with the body's object. Its bytes count until that has ended. */
    const withReply = <A, E, R>(
      request: Request,
      holder: string,
      use: (body: JsonObject) => Effect.Effect<A, E, R>
    ) => {
      let taken = 0
      const listener = {
        take: ({ length }: Buffer) => {
          const isTaken = budget.take(holder, length)
          if (isTaken) taken += length
          return isTaken
        }
      }
      return Effect.flatMap(fixed(Body.readObject(request, maxReplyBody, listener)), use).pipe(
        Effect.ensuring(Effect.sync(() => budget.giveBack(holder, taken)))
      )
    }

    return refusing(handlers)
      .handle("team", () => Effect.map(CallingKey, ({ team }) => ({ team })))
      .handleRaw("next", ({ request }) =>
        Effect.gen(function* () {
          const { id, team } = yield* CallingKey
          RequestFacts.routine(request)
          const { leader, wait_seconds = longestWait } = yield* Effect.flatMap(
            read(request, NextDraft.fields),
            decodeNext
          )
          const taken = yield* leaders.next({ team, leader, key_id: id }, Duration.seconds(wait_seconds))
          if (Option.isNone(taken)) return HttpServerResponse.empty()
          const { prompt, redelivered } = taken.value
          const { correlation_id, run_id, traceparent } = prompt
          RequestFacts.add(request, { run_id })
          const body = { ...promptBody(prompt), correlation_id, traceparent, redelivered, cancelled: false }
          return HttpServerResponse.jsonUnsafe(body)
        })
      )
      .handleRaw("work", ({ request }) =>
        Effect.gen(function* () {
          const { team } = yield* CallingKey
          RequestFacts.routine(request)
          const draft = yield* Effect.flatMap(read(request, WorkDraft.fields), decodeWork)
          return HttpServerResponse.jsonUnsafe(yield* leaders.work({ team, ...draft }))
        })
      )
      .handleRaw("reply", ({ request }) =>
        Effect.gen(function* () {
          const { team } = yield* CallingKey
          yield* withReply(request, team, (body) =>
            Effect.gen(function* () {
              const { correlation_id, type } = body
              if (typeof correlation_id !== "string") return yield* invalid("correlation_id", "must be a text")
              if (!isReplyType(type)) return yield* invalid("type", `must be one of ${replyTypes.join(", ")}`)
              if (type === "progress") RequestFacts.routine(request)
              yield* leaders.reply(team, correlation_id, yield* readBody(type, body))
            })
          )
          return HttpServerResponse.empty()
        })
      )
      .handleRaw("file", ({ request }) =>
        Effect.gen(function* () {
          const { team } = yield* CallingKey
          const { correlation_id, id } = yield* Effect.flatMap(read(request, FileDraft.fields), decodeFile)
          const bytes = yield* leaders.file(team, correlation_id, id)
          return HttpServerResponse.jsonUnsafe({ content: Buffer.from(bytes).toString("base64") })
        }).pipe(
          Effect.catchTag("FileMissing", ({ reason }) =>
            Effect.succeed(HttpServerResponse.jsonUnsafe({ content: "", missing: reason }))
          )
        )
      )
      .handleRaw("leave", ({ request }) =>
        Effect.gen(function* () {
          const { team } = yield* CallingKey
          const { leader } = yield* Effect.flatMap(read(request, LeaveDraft.fields), decodeLeave)
          yield* leaders.leave({ team, leader })
          return HttpServerResponse.empty()
        })
      )
  })
)
