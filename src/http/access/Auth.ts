/**
 * Authenticates management requests: the admin key, or a session of the web UI. Checked before anything else, even for
 * unknown IDs.
 */
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option, Redacted } from "effect"
import { Actor, Admin } from "../../api/Auth.ts"
import { Unauthorized } from "../../domain/Errors.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import * as Problems from "../request/Problems.ts"
import * as QueryCheck from "../request/QueryCheck.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import { AdminKeyCheck } from "./AdminKeyCheck.ts"
import { bearerOf } from "./Bearer.ts"
import * as SessionCookie from "./SessionCookie.ts"

const refused = Effect.fail(Problems.of(new Unauthorized({ detail: "Send `Authorization: Bearer <admin key>`." })))

/** Safe methods change nothing. A page of another site may cause such a request, but cannot read the response. */
const isSafe = (method: string): boolean => method === "GET" || method === "HEAD"

export const layer: Layer.Layer<Admin, never, AdminKeyCheck | Sessions> = Layer.effect(
  Admin,
  Effect.gen(function* () {
    const { check } = yield* AdminKeyCheck
    const sessions = yield* Sessions
    const cookie = yield* SessionCookie.make

    /** Browsers send the cookie without being asked, so the request's origin matters too. */
    const bySession = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        const session = yield* Effect.mapError(sessions.find(cookie.of(request)), Problems.of)
        if (Option.isNone(session)) return yield* refused
        if (!isSafe(request.method) && !cookie.isSameOrigin(request)) return yield* refused
        const { id } = session.value
        RequestFacts.add(request, { actor: "session", session_id: id })
        return Actor.of({ _tag: "Session", id })
      })

    const authenticate = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const key = bearerOf(request)
      if (key === undefined) return yield* bySession(request)
      yield* Effect.mapError(check(request, Redacted.make(key)), Problems.of)
      return Actor.of({ _tag: "AdminKey" })
    })

    /** Only for those who may know: what is wrong with the query. */
    const checked = Effect.tap(authenticate, () =>
      QueryCheck.check.pipe(
        Effect.mapError(Problems.of),
        // Endpoints without parameters do not declare a 400.
        Effect.catchIf(
          (problem) => problem.status === 400,
          (problem) => Effect.die(Problems.toResponse(problem))
        )
      )
    )

    // The second is tried if the first has refused, and its refusal is the response, so it checks both.
    return Admin.of({ key: () => refused, session: () => checked })
  })
)
