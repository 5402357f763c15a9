/** Requests and responses of the API with the numbers of callers as they were written. */
import { Effect, Layer, Option } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { withNumbers } from "../api/ExactNumbers.ts"
import * as Json from "../domain/Json.ts"

/** Members of responses that commands print as JSON. A schema also becomes YAML, which has plain numbers. */
const ofCallers = ["variables", "payload", "answer"]

/** As marked texts, which `Json.stringify` writes as numbers: the client parses the bytes itself. */
const marked = (bytes: ArrayBuffer): ArrayBuffer =>
  Option.liftThrowable(() => Json.withPlainNumbers(Json.parse(new TextDecoder().decode(bytes)), ofCallers))().pipe(
    Option.filter(Json.hasExact),
    Option.match({
      onNone: () => bytes,
      onSome: (value) => new TextEncoder().encode(JSON.stringify(value)).buffer
    })
  )

const reading = (response: HttpClientResponse.HttpClientResponse): HttpClientResponse.HttpClientResponse =>
  Object.create(response, { arrayBuffer: { get: () => Effect.map(response.arrayBuffer, marked) } })

export const layer = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) =>
    HttpClient.mapRequest(HttpClient.transformResponse(client, Effect.map(reading)), (request) =>
      HttpClientRequest.setBody(request, withNumbers(request.body))
    )
  )
)
