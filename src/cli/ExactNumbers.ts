/** JSON of requests and responses, with numbers of callers as they were written. */
import { HttpBody, HttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import * as Json from "../domain/Json.ts"

const withNumbers = (request: HttpClientRequest.HttpClientRequest): HttpClientRequest.HttpClientRequest => {
  const { body } = request
  if (body._tag !== "Uint8Array" || !Buffer.from(body.body).includes(Json.mark)) return request
  const text = Json.withNumbers(new TextDecoder().decode(body.body))
  return HttpClientRequest.setBody(request, HttpBody.text(text, body.contentType))
}

const reading = (response: HttpClientResponse.HttpClientResponse): HttpClientResponse.HttpClientResponse =>
  Object.create(response, {
    json: {
      get: () =>
        Effect.tryMap(response.text, {
          try: (text) => (text === "" ? null : Json.withPlainNumbers(Json.parse(text), Json.ofCallers)),
          catch: (cause) =>
            new HttpClientError.ResponseError({ request: response.request, response, reason: "Decode", cause })
        })
    }
  })

export const layer = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) =>
    HttpClient.mapRequest(HttpClient.transformResponse(client, Effect.map(reading)), withNumbers)
  )
)
