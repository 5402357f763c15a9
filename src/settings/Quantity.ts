import { Duration, Effect, Option, Schema, SchemaIssue, SchemaTransformation } from "effect"

/** A schema that reads text with `parse` and writes it with `print`. It rejects text for which `parse` returns nothing. */
export const fromText = <A>(
  target: Schema.Codec<A>,
  parse: (text: string) => Option.Option<A>,
  print: (value: A) => string
): Schema.Codec<A, string> =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.toType(target),
      SchemaTransformation.transformEffect({
        decode: (text: string) =>
          Option.match(parse(text), {
            onNone: () => Effect.fail(new SchemaIssue.InvalidValue()),
            onSome: Effect.succeed
          }),
        encode: (value: A) => Effect.succeed(print(value))
      })
    )
  )

/** A number, optional spaces and a unit from `units`. Without a unit, `units[""]` applies. */
const quantity = (units: Record<string, number>, text: string): Option.Option<number> => {
  const found = /^(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)$/i.exec(text.trim())
  if (found === null) return Option.none()
  const unit = units[found[2]!.toLowerCase()]
  return unit === undefined ? Option.none() : Option.some(Number(found[1]) * unit)
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const millis = {
  "": second,
  ...{ ms: 1, milli: 1, millis: 1, millisecond: 1, milliseconds: 1 },
  ...{ s: second, sec: second, second, seconds: second },
  ...{ m: minute, min: minute, minute, minutes: minute },
  ...{ h: hour, hour, hours: hour },
  ...{ d: day, day, days: day, week: 7 * day, weeks: 7 * day }
}

const bytes = {
  ...{ "": 1, b: 1, byte: 1, bytes: 1 },
  ...{ kb: 1e3, mb: 1e6, gb: 1e9 },
  ...{ kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 }
}

/** `300`, `300 s`, `5 minutes`, `1.5h`. A number alone is in seconds. */
export const DurationFromText: Schema.Codec<Duration.Duration, string> = fromText(
  Schema.Duration,
  (text) => Option.map(quantity(millis, text), (ms) => Duration.millis(Math.round(ms))),
  (duration) => `${Duration.toMillis(duration)} ms`
)

/** `1048576`, `1 MiB`, `500 kB`. A number alone is in bytes. */
export const SizeFromText: Schema.Codec<number, string> = fromText(
  Schema.Number,
  (text) => Option.map(quantity(bytes, text), Math.round),
  String
)
