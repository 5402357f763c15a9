import type { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Trigger } from "../../api/run/Trigger.ts"
import type * as Problems from "../request/Problems.ts"

type Errors<Name extends string> = HttpApiEndpoint.ErrorsWithIdentifier<HttpApiGroup.Endpoints<typeof Trigger>, Name>

/** An endpoint may fail only with what the API's definition declares for it. */
export type Answer<Name extends string, R = never> = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  Problems.RefusalWith<Errors<Name>["status"]>,
  R
>
