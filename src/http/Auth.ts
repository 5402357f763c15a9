/**
 * Who may manage: anyone with the admin key or a session of the web UI. Checked before anything else, also for unknown
 * ids.
 */
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option, Redacted } from "effect"
import { Admin } from "../api/Auth.ts"
import { Unauthorized } from "../domain/Errors.ts"
import { AdminKey } from "../engine/AdminKey.ts"
import * as Problems from "./Problems.ts"
import { Sessions } from "./Sessions.ts"

const refused = Effect.fail(
  Problems.of(new Unauthorized({ detail: "Send `Authorization: Bearer <admin key>`, with the key of this server." }))
)

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const bearer = /^bearer +([\x21-\x7e]+)$/i

/** Safe methods change nothing; a page of another site may cause such a request, but cannot read the response. */
const isSafe = (method: string): boolean => method === "GET" || method === "HEAD"

export const layer: Layer.Layer<Admin, never, AdminKey | Sessions> = Layer.effect(
  Admin,
  Effect.gen(function* () {
    const { verify } = yield* AdminKey
    const sessions = yield* Sessions
    return Admin.of({
      key: () =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
          const key = bearer.exec(headers.authorization ?? "")?.[1]
          return key !== undefined && verify(Redacted.make(key)) ? Effect.void : refused
        }),
      // Tried when the key was refused. Browsers attach the cookie by themselves, so the request's origin matters too.
      session: () =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          if (Option.isNone(yield* sessions.read(sessions.cookieOf(request)))) return yield* refused
          if (!isSafe(request.method) && !sessions.isSameOrigin(request)) return yield* refused
        })
    })
  })
)
