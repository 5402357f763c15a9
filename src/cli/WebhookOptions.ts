import { Options } from "@effect/cli"
import { Effect, Option, ParseResult, Schema } from "effect"
import { WebhookDraft, WebhookEdit } from "../domain/Webhook.ts"
import { usage } from "./Failure.ts"

const name = Options.text("name").pipe(Options.withDescription("What people call the webhook"))
const team = Options.text("team").pipe(Options.withDescription("The team it sends to"))
const template = Options.text("template").pipe(
  Options.withDescription("The prompt, with placeholders: 'Review {{branch}}'"),
  Options.orElse(
    Options.fileText("template-file").pipe(
      Options.withDescription("A file that holds the prompt"),
      Options.map(([_, text]) => text)
    )
  )
)
const timeout = Options.text("timeout").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("How long an answer may take; `default`: the server's WEBHOOK_TIMEOUT"),
  Options.optional
)
const maxConcurrent = Options.text("max-concurrent").pipe(
  Options.withPseudoName("count"),
  Options.withDescription("Runs of it at once; `default`: the server's WEBHOOK_MAX_CONCURRENT"),
  Options.optional
)
const disabled = Options.boolean("disabled").pipe(Options.withDescription("Make it switched off"))

export const draftOptions = { name, team, template, timeout, maxConcurrent, disabled }

export const editOptions = {
  name: Options.optional(name),
  team: Options.optional(team),
  template: Options.optional(template),
  timeout,
  maxConcurrent
}

type Text = Option.Option<string>

/** `default` is `null`; what is no number is left for the schema to refuse, in the user's own words. */
const numberOrDefault = (text: string): unknown =>
  text === "default" ? null : /^\d+$/.test(text) ? Number(text) : text

const given = (values: Readonly<Record<string, Option.Option<unknown>>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (Option.isSome(value) ? [[key, value.value]] : []))
  )

const decode = <A, I>(schema: Schema.Schema<A, I>, values: unknown) =>
  Schema.decodeUnknown(schema, { errors: "all" })(values).pipe(
    Effect.mapError((error) =>
      usage(
        "the webhook cannot be like this",
        ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) => ({
          pointer: path.join("/"),
          detail: message
        }))
      )
    )
  )

export const draftOf = (options: {
  readonly name: string
  readonly team: string
  readonly template: string
  readonly timeout: Text
  readonly maxConcurrent: Text
  readonly disabled: boolean
}) =>
  decode(WebhookDraft, {
    name: options.name,
    team: options.team,
    prompt_template: options.template,
    ...given({
      timeout_seconds: Option.filter(Option.map(options.timeout, numberOrDefault), (value) => value !== null),
      max_concurrent: Option.filter(Option.map(options.maxConcurrent, numberOrDefault), (value) => value !== null)
    }),
    ...(options.disabled && { enabled: false })
  })

export const editOf = (options: {
  readonly name: Text
  readonly team: Text
  readonly template: Text
  readonly timeout: Text
  readonly maxConcurrent: Text
}) => {
  const changes = given({
    name: options.name,
    team: options.team,
    prompt_template: options.template,
    timeout_seconds: Option.map(options.timeout, numberOrDefault),
    max_concurrent: Option.map(options.maxConcurrent, numberOrDefault)
  })
  return Object.keys(changes).length === 0
    ? Effect.fail(usage("nothing to change; see webhook-trigger webhook edit --help"))
    : decode(WebhookEdit, changes)
}
