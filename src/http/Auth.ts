/**
 * Who may manage: whoever has the admin key, or a session of the web UI. It is asked for before anything else, for
 * unknown ids too.
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

/** RFC 6750, 2.1; the scheme's name may be written in any case (RFC 9110, 11.1). */
const bearer = /^bearer +([\x21-\x7e]+)$/i

/** What changes nothing; a page of another site may link to it, but not read the answer. */
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
      // Tried when the key was refused. A browser sends the cookie along, so who asks matters as well.
      session: (cookie) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          if (Option.isNone(yield* sessions.read(Redacted.value(cookie)))) return yield* refused
          if (!isSafe(request.method) && !sessions.isOwnPage(request)) return yield* refused
        })
    })
  })
)
