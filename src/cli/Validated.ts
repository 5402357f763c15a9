import { Schema } from "effect"
import { HelpDoc } from "effect/cli"
import { type ParseResult } from "effect"
import { faultsOf } from "../domain/SchemaFaults.ts"
import { time } from "../domain/Time.ts"

/** For `mapTryCatch`: reports an invalid value with the option's name before any request is sent. */
export const validated = <A>(name: string, schema: Schema.Codec<A, any>) =>
  [
    Schema.decodeUnknownSync(schema) as (text: string) => A,
    (error: unknown) => {
      const [fault] = faultsOf((error as ParseResult.ParseError).issue)
      return HelpDoc.p(`${name} ${fault!.detail}`)
    }
  ] as const

export const wholeNumber = (min: number, max: number) =>
  Schema.NumberFromString.pipe(
    Schema.check(Schema.isInt()),
    Schema.check(Schema.isBetween({ minimum: min, maximum: max })),
    Schema.annotate({
      message: () => ({ message: `must be a whole number from ${min} to ${max}`, override: true })
    })
  )

/** A day means its start in UTC. */
export const Time = Schema.compose(
  Schema.transform(Schema.String, Schema.String, {
    strict: true,
    decode: (text) => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text),
    encode: (text) => text
  }),
  time("")
).annotate({
  message: () => ({
    message: "must be a time such as 2026-01-02T03:04:05Z, or a day such as 2026-01-02",
    override: true
  })
})
