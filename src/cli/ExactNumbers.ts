/** Requests and responses of the API with the numbers of callers as they were written. */
import { HttpBody, HttpClient, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import * as Json from "../domain/Json.ts"

/** Members of responses with values of callers. */
const ofCallers = ["variables", "payload"]

const withNumbers = (request: HttpClientRequest.HttpClientRequest): HttpClientRequest.HttpClientRequest => {
  const { body } = request
  if (body._tag !== "Uint8Array") return request
  const text = new TextDecoder().decode(body.body)
  const exact = Json.withNumbers(text)
  return exact === text ? request : HttpClientRequest.setBody(request, HttpBody.text(exact, body.contentType))
}

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
    HttpClient.mapRequest(HttpClient.transformResponse(client, Effect.map(reading)), withNumbers)
  )
)
