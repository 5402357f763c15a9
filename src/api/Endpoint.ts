/** Parts of endpoints. */
import { HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"

/** An endpoint's texts in the API reference: a line, and what to know before calling it. */
export const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** A response without a body. */
export const noContent = (description: string) => HttpApiSchema.NoContent.annotations({ description })

/** A streamed body. */
export const streamedText = (contentType: string, description: string) =>
  Schema.String.annotations({ description }).pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType }))
