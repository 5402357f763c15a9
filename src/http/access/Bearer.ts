import type { HttpServerRequest } from "effect/http"

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const bearer = /^bearer +([\x21-\x7e]+)$/i

/** A request's `Authorization: Bearer …`. */
export const bearerOf = ({ headers }: HttpServerRequest.HttpServerRequest): string | undefined =>
  bearer.exec(headers.authorization ?? "")?.[1]
