/** Settings from environment variables, read through Effect's `ConfigProvider`. */
import {
  Config,
  Duration,
  Effect,
  Option,
  Record,
  type Redacted,
  Result,
  Schema,
  SchemaIssue,
  SchemaParser,
  SchemaTransformation
} from "effect"
import { DurationFromText, fromText, SizeFromText } from "./Quantity.ts"

/** The values a variable accepts. */
export interface Format<A> {
  /** Follows the variable's name in an error: `takes a whole number from 1 to 10000`. */
  readonly accepts: string
  readonly schema: Schema.Codec<A, string>
  /** Errors don't show the value. */
  readonly isSecret?: boolean
}

export interface Setting<A> {
  /** Absent if the setting has no variable. */
  readonly variable?: string
  readonly isSecret: boolean
  /** The value if the variable is absent or blank. */
  readonly fallback: A
  readonly config: Config.Config<A>
}

/** The values of a table of settings. */
export type Values<Settings> = {
  readonly [Name in keyof Settings]: Settings[Name] extends { readonly config: Config.Config<infer A> } ? A : never
}

/** Reads a table of settings. Reports all invalid values at once, unlike `Config.all`. */
export const configOf = <Settings extends { readonly [name: string]: { readonly config: Config.Config<any> } }>(
  settings: Settings
): Config.Config<Values<Settings>> =>
  Config.mapEffect(
    Config.all(Record.map(settings, ({ config }) => resultOf(config))),
    (results): Effect.Effect<any, Config.ConfigError> => {
      const [error, ...others] = Object.values(results).flatMap((result) =>
        Result.isFailure(result) ? result.failure : []
      )
      return error === undefined ? Effect.fromResult(Result.all(results)) : Effect.fail(others.reduce(joined, error))
    }
  )

const resultOf = <A>(config: Config.Config<A>): Config.Config<Result.Result<A, Config.ConfigError>> =>
  Config.orElse(Config.map(config, Result.succeed), (error) => Config.succeed(Result.fail(error)))

const joined = (one: Config.ConfigError, other: Config.ConfigError): Config.ConfigError =>
  one.cause._tag === "SourceError" || other.cause._tag === "SourceError"
    ? one
    : new Config.ConfigError(
        new Schema.SchemaError(new SchemaIssue.Composite(Schema.Unknown.ast, [one.cause.issue, other.cause.issue]))
      )

/** The values of a table of settings if no variable is set. */
export const defaultsOf = <Settings extends { readonly [name: string]: Setting<any> }>(
  settings: Settings
): Values<Settings> =>
  Object.fromEntries(Object.entries(settings).map(([name, { fallback }]) => [name, fallback])) as any

/** Trimmed; a blank value counts as absent. */
const blankIsAbsent = <A>({ accepts, schema }: Format<A>): Schema.Codec<Option.Option<A>, string> =>
  Schema.Trim.pipe(
    Schema.decodeTo(
      Schema.toType(Schema.Option(schema)),
      SchemaTransformation.transformEffect({
        decode: (text: string) =>
          text === ""
            ? Effect.succeedNone
            : Effect.mapBoth(SchemaParser.decodeEffect(schema)(text), {
                onFailure: () => new SchemaIssue.InvalidValue({ message: accepts }),
                onSuccess: Option.some
              }),
        encode: Option.match({ onNone: () => Effect.succeed(""), onSome: SchemaParser.encodeEffect(schema) })
      })
    )
  )

const read = <A>(variable: string, format: Format<A>): Config.Config<Option.Option<A>> =>
  Config.withDefault(Config.schema(blankIsAbsent(format), variable), Option.none())

export const withDefault = <A>(variable: string, format: Format<A>, fallback: A): Setting<A> => ({
  variable,
  isSecret: format.isSecret === true,
  fallback,
  config: Config.map(read(variable, format), (value) => Option.getOrElse(value, () => fallback))
})

export const optional = <A>(variable: string, format: Format<A>): Setting<Option.Option<A>> => ({
  variable,
  isSecret: format.isSecret === true,
  fallback: Option.none(),
  config: read(variable, format)
})

/** A setting that only code can change. */
export const fixed = <A>(value: A): Setting<A> => ({ isSecret: false, fallback: value, config: Config.succeed(value) })

/** `thing` with its article: `a folder`. */
export const text = (thing: string): Format<string> => ({ accepts: `takes ${thing}`, schema: Schema.String })

const numberLike = (pattern: RegExp, minimum: number, maximum: number): Schema.Codec<number, string> =>
  Schema.String.check(Schema.isPattern(pattern)).pipe(
    Schema.decodeTo(Schema.Number.check(Schema.isBetween({ minimum, maximum })), SchemaTransformation.numberFromString)
  )

export const wholeNumber = (min: number, max: number, note = ""): Format<number> => ({
  accepts: `takes a whole number from ${min} to ${max}${note}`,
  schema: numberLike(/^\d+$/, min, max)
})

/** An amount of US dollars, such as `0.25`. */
export const amount = (min: number, max: number): Format<number> => ({
  accepts: `takes an amount of US dollars from ${min} to ${max}, such as \`0.25\``,
  schema: numberLike(/^\d+(\.\d+)?$/, min, max)
})

type Bounds = readonly [min: Duration.Input, max: Duration.Input, example: string]

const durationInWords = (...[min, max, example]: Bounds) =>
  `seconds, or a number with a unit such as \`${example}\`, from ${inWords(min)} to ${inWords(max)}`

const inWords = (duration: Duration.Input) => Duration.format(Duration.fromInputUnsafe(duration))

export const duration = (...bounds: Bounds): Format<Duration.Duration> => {
  const [min, max] = bounds
  return {
    accepts: `takes ${durationInWords(...bounds)}`,
    schema: DurationFromText.check(
      Schema.makeFilter(
        Duration.between({ minimum: Duration.fromInputUnsafe(min), maximum: Duration.fromInputUnsafe(max) })
      )
    )
  }
}

/** A duration, or the word `off`. */
export const durationOrOff = (...bounds: Bounds): Format<Option.Option<Duration.Duration>> => {
  const { schema } = duration(...bounds)
  const decode = Schema.decodeOption(schema)
  return {
    accepts: `takes \`off\`, ${durationInWords(...bounds)}`,
    schema: fromText(
      Schema.Option(Schema.Duration),
      (text) => (text.toLowerCase() === "off" ? Option.some(Option.none()) : Option.map(decode(text), Option.some)),
      Option.match({ onNone: () => "off", onSome: Schema.encodeSync(schema) })
    )
  }
}

/** A number of bytes. */
export const size = (min: number, max: number, example: string): Format<number> => ({
  accepts: `takes bytes, or a size such as \`${example}\`, from ${min} to ${max} bytes`,
  schema: SizeFromText.check(Schema.isBetween({ minimum: min, maximum: max }))
})

/** One of several words, case-insensitive, each with its value. */
export const wordFor = <A>(values: Readonly<Record<string, A>>): Format<A> => ({
  accepts: `takes one of ${Object.keys(values).join(", ")}`,
  schema: fromText(
    Schema.Any as Schema.Codec<A>,
    (text) => Record.get(values, text.toLowerCase()),
    (value) => Object.keys(values).find((word) => values[word] === value) ?? ""
  )
})

/** One of several words, case-insensitive. */
export const oneOf = <const Word extends string>(...words: ReadonlyArray<Word>): Format<Word> =>
  wordFor(Object.fromEntries(words.map((word) => [word, word])))

/** An address with one of these schemes (`https:`), unchanged. */
export const address = (schemes: ReadonlyArray<string>, example: string): Format<string> => ({
  accepts: `takes an address such as \`${example}\``,
  schema: Schema.String.check(
    Schema.makeFilter((text) => {
      const url = Option.getOrUndefined(Option.liftThrowable(() => new URL(text))())
      return url !== undefined && schemes.includes(url.protocol) && url.hostname !== ""
    })
  )
})

/** An HTTP address, without a trailing slash. */
export const baseUrl = (example: string): Format<string> => {
  const { accepts, schema } = address(["http:", "https:"], example)
  return {
    accepts,
    schema: schema.pipe(
      Schema.decodeTo(
        Schema.String,
        SchemaTransformation.transform({ decode: (text) => text.replace(/\/+$/, ""), encode: (text) => text })
      )
    )
  }
}

const header = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([\x21-\x7e ]*)$/

/** Headers in OpenTelemetry's format: https://opentelemetry.io/docs/specs/otel/protocol/exporter/ */
export const headerList: Format<Readonly<Record<string, string>>> = {
  accepts: "takes headers such as `authorization=Bearer%20key,x-tenant=a`, separated by commas, values percent-encoded",
  schema: fromText(
    Schema.Record(Schema.String, Schema.String),
    (text) =>
      Option.map(
        Option.all(
          text
            .split(",")
            .map((pair) =>
              Option.flatMap(Option.fromNullishOr(header.exec(pair)), ([, name, value]) =>
                Option.map(
                  Option.liftThrowable(decodeURIComponent)(value!.trim()),
                  (decoded) => [name!.toLowerCase(), decoded] as const
                )
              )
            )
        ),
        Object.fromEntries
      ),
    (headers: Readonly<Record<string, string>>) =>
      Object.entries(headers)
        .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
        .join(",")
  )
}

export const secret = <A>({ accepts, schema }: Format<A>): Format<Redacted.Redacted<A>> => ({
  accepts,
  schema: Schema.RedactedFromValue(schema),
  isSecret: true
})
