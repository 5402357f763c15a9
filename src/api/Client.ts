import { Effect, flow, identity, type Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "./Api.ts"
import type { Accepted, Answered, Cancelled, Ignored } from "./run/RunAnswers.ts"
import { triggerPath } from "./run/TriggerUrl.ts"

type All = HttpApiClient.ForApi<typeof Api>

const makeAll = ({ adminKey, url }: Parameters<typeof make>[0]): Effect.Effect<All, never, HttpClient.HttpClient> =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: flow(
      adminKey === undefined ? identity : HttpClient.mapRequest(HttpClientRequest.bearerToken(adminKey)),
      // Spans contain the URL, and a trigger URL contains the token.
      HttpClient.transformResponse(
        Effect.provideService(HttpClient.TracerDisabledWhen, ({ url }) => url.includes(`${triggerPath}/`))
      )
    )
  })

/**
 * The response to a trigger, by its `wait`. With `wait: true` it is `success` (200) with the answer, otherwise `accepted`
 * (202). A request that is filtered out starts no run: `ignored` (200), or `cancelled` (200) if it cancels earlier ones.
 */
export type Triggered<Wait extends boolean> = Wait extends true
  ? typeof Answered.Type | typeof Ignored.Type | typeof Cancelled.Type
  : typeof Accepted.Type | typeof Ignored.Type | typeof Cancelled.Type

type Request<Method extends (request: never) => unknown> = Parameters<Method>[0]

/** A method whose result depends on `wait`, and whose parameters and headers may be absent. */
type TriggerMethod<Method extends (request: any) => Effect.Effect<any, any, any>> = <
  const Wait extends boolean = false,
  Mode extends "decoded-only" | "decoded-and-response" = "decoded-only"
>(
  request: Omit<Request<Method>, "headers" | "query" | "responseMode"> & {
    readonly headers?: Request<Method>["headers"]
    readonly query?: Omit<Request<Method>["query"], "wait"> & { readonly wait?: Wait }
    readonly responseMode?: Mode
  }
) => Effect.Effect<HttpApiClient.Client.Response<Triggered<Wait>, Mode>, Effect.Error<ReturnType<Method>>>

type Triggers = Pick<All["trigger"], "trigger" | "triggerWithHeader">

export type Client = Omit<All, "trigger"> & {
  readonly trigger: Omit<All["trigger"], keyof Triggers> & {
    readonly [Name in keyof Triggers]: TriggerMethod<Triggers[Name]>
  }
}

const withDefaults =
  <A>(call: (request: any) => A) =>
  (request: object): A =>
    call({ query: {}, headers: {}, ...request })

/**
 * A typed client. `url` is the server's address, with its path prefix if it has one. Without an admin key only the
 * `trigger` group works. Runs on any `HttpClient`, also in a browser.
 *
 * Errors are tagged: a problem by its status, such as `NotFound`, with its `code`; a run that ended otherwise as `Failed`
 * or `TimedOut`. The rest are those of `HttpClient`, and `SchemaError` for a response of another version.
 */
export const make = (options: {
  readonly url: string
  readonly adminKey?: Redacted.Redacted
}): Effect.Effect<Client, never, HttpClient.HttpClient> =>
  Effect.map(makeAll(options), (client) => {
    const { trigger, triggerWithHeader } = client.trigger
    return {
      ...client,
      trigger: {
        ...client.trigger,
        trigger: withDefaults(trigger),
        triggerWithHeader: withDefaults(triggerWithHeader)
      }
    } as Client
  })
