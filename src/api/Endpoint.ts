/** Parts of endpoints. */
import { Schema } from "effect"
import { HttpApiSchema, HttpApiSecurity, OpenApi } from "effect/http-api"

/** An endpoint's texts in the API reference: a line, and what to know before calling it. */
export const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** A response without a body. */
export const noContent = (description: string) => HttpApiSchema.NoContent.annotate({ description })

/** A streamed body. */
export const streamedText = (contentType: string, description: string) =>
  Schema.String.annotate({ description }).pipe(HttpApiSchema.asText({ contentType }))

/** `HttpApiSecurity.bearer` has a capital letter, which some readers of OpenAPI do not know. */
export const bearer = HttpApiSecurity.http({ scheme: "bearer" })
