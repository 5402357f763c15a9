import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"

/** A streamed body. */
export const streamedText = (contentType: string, description: string) =>
  Schema.String.annotations({ description }).pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType }))
