/** Handlers of the API that fail with the domain's errors: the only place where these become responses. */
import { Effect, type Schema } from "effect"
import type { HttpApiBuilder, HttpApiEndpoint } from "effect/http-api"
import * as ErrorResponse from "./ErrorResponse.ts"
import type { Refusal, RefusalWith } from "./Problems.ts"

/** An endpoint whose handler may fail with the errors that become a problem with one of its statuses. */
type Refusing<Endpoint extends HttpApiEndpoint.Constraint> = Omit<Endpoint, "~Error"> & {
  readonly "~Error": Schema.Codec<
    RefusalWith<(HttpApiEndpoint.Errors<Endpoint> & { readonly status: number })["status"]>
  >
}

type Endpoints = Record<string, HttpApiEndpoint.Constraint>

type Handler = (request: never) => Effect.Effect<unknown, Refusal, never>

const answering =
  (handler: Handler): Handler =>
  (request) =>
    Effect.catch(handler(request), (refusal) => Effect.succeed(ErrorResponse.ofRefusal(refusal)))

/** An endpoint that does not declare the status of one of its handler's errors does not compile. */
export const refusing = <R, E extends Endpoints, Handled extends keyof E>(
  handlers: HttpApiBuilder.Handlers<R, E, Handled>
): HttpApiBuilder.Handlers<R, { readonly [Name in keyof E]: Refusing<E[Name]> }, Handled> => {
  const { handle, handleRaw } = handlers as unknown as Record<string, (name: string, handler: Handler) => unknown>
  return Object.assign(Object.create(handlers), {
    handle(name: string, handler: Handler) {
      return handle!.call(this, name, answering(handler))
    },
    handleRaw(name: string, handler: Handler) {
      return handleRaw!.call(this, name, answering(handler))
    }
  })
}
