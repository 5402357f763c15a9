import { HttpBody } from "effect/http"
import * as Json from "../domain/Json.ts"

/** The body with the numbers of callers as they were written: the encoders of the API know JavaScript's only. */
export const withNumbers = (body: HttpBody.HttpBody): HttpBody.HttpBody => {
  if (
    body._tag !== "Uint8Array" ||
    !Buffer.from(body.body.buffer, body.body.byteOffset, body.body.byteLength).includes(Json.mark)
  )
    return body
  return HttpBody.text(Json.withNumbers(new TextDecoder().decode(body.body)), body.contentType)
}
