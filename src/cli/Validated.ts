import { HelpDoc } from "@effect/cli"
import { ParseResult, Schema } from "effect"

/** For `mapTryCatch`: reports an invalid value with the option's name before any request is sent. */
export const validated = <A>(name: string, schema: Schema.Schema<A, any>) =>
  [
    Schema.decodeUnknownSync(schema) as (text: string) => A,
    (error: unknown) => {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error as ParseResult.ParseError)
      return HelpDoc.p(`${name} ${issue!.message}`)
    }
  ] as const

export const wholeNumber = (min: number, max: number) =>
  Schema.NumberFromString.pipe(
    Schema.int(),
    Schema.between(min, max),
    Schema.annotations({
      message: () => ({ message: `must be a whole number from ${min} to ${max}`, override: true })
    })
  )
