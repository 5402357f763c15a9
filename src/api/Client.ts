import { HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { type Effect, flow, identity, type Redacted } from "effect"
import { Api } from "./Api.ts"
import { triggerPath } from "./run/TriggerUrl.ts"

/**
 * A typed client. `url` is the server's address, with its path prefix if it has one. Without an admin key only the
 * `trigger` group works. Runs on any `HttpClient`, also in a browser.
 */
export const make = (options: { readonly url: string; readonly adminKey?: Redacted.Redacted }) =>
  HttpApiClient.make(Api, {
    baseUrl: options.url,
    transformClient: flow(
      options.adminKey === undefined
        ? identity
        : HttpClient.mapRequest(HttpClientRequest.bearerToken(options.adminKey)),
      // Spans contain the URL, and a trigger URL contains the token.
      HttpClient.withTracerDisabledWhen(({ url }) => url.includes(`${triggerPath}/`))
    )
  })

export type Client = Effect.Effect.Success<ReturnType<typeof make>>
