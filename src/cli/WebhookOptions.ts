import { HelpDoc, Options, ValidationError } from "@effect/cli"
import { FileSystem } from "@effect/platform"
import { Effect, Option, ParseResult, Record, Schema } from "effect"
import { WebhookDraft, WebhookEdit } from "../domain/Webhook.ts"
import { usage } from "./Failure.ts"

const name = Options.text("name").pipe(Options.withDescription("What people call the webhook"))
const team = Options.text("team").pipe(Options.withPseudoName("name"), Options.withDescription("The team it sends to"))
const template = Options.text("template").pipe(
  Options.withDescription("The prompt, with placeholders: 'Review {{branch}}'"),
  Options.optional
)
const templateFile = Options.text("template-file").pipe(
  Options.withPseudoName("file"),
  Options.withDescription("A file that holds the prompt; `-` reads it from standard input"),
  Options.mapEffect((path) =>
    Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(path === "-" ? "/dev/stdin" : path)).pipe(
      Effect.mapError(() =>
        ValidationError.invalidValue(HelpDoc.p(`--template-file cannot be read: ${JSON.stringify(path)}`))
      )
    )
  ),
  Options.optional
)
const timeout = Options.text("timeout").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("How long an answer may take; `default` is the server's WEBHOOK_TIMEOUT"),
  Options.optional
)
const maxConcurrent = Options.text("max-concurrent").pipe(
  Options.withPseudoName("count"),
  Options.withDescription("How many runs of it at once; `default` is the server's WEBHOOK_MAX_CONCURRENT"),
  Options.optional
)
const disabled = Options.boolean("disabled").pipe(
  Options.withDescription("Make it switched off: it answers triggers with 404 until it is enabled")
)

const shared = { template, templateFile, timeout, maxConcurrent }
export const draftOptions = { name, team, ...shared, disabled }
export const editOptions = { name: Options.optional(name), team: Options.optional(team), ...shared }

type Text = Option.Option<string>

/** `default` is `null`; what is no number is left for the schema to refuse, in the user's own words. */
const numberOrDefault = (text: string): unknown =>
  text === "default" ? null : /^\d+$/.test(text) ? Number(text) : text

/** Where each field comes from, and what it takes. */
const accepts: Readonly<Record<string, string>> = {
  name: "--name must be 1 to 255 characters",
  team: "--team must be 1 to 63 lower-case letters, digits or hyphens, starting with a letter or digit",
  prompt_template: "--template or --template-file must be given, and be 1 to 65,536 characters",
  timeout_seconds: "--timeout must be a whole number of seconds from 1 to 86,400, or `default`",
  max_concurrent: "--max-concurrent must be a whole number from 1 to 10,000, or `default`"
}

const decode = <A, I>(schema: Schema.Schema<A, I>, values: unknown) =>
  Schema.decodeUnknown(schema, { errors: "all" })(values).pipe(
    Effect.mapError((error) => {
      const fields = ParseResult.ArrayFormatter.formatErrorSync(error).map(({ path }) => String(path[0]))
      return usage(
        "the webhook cannot be like this",
        [...new Set(fields)].map((field) => ({ pointer: "", detail: accepts[field] ?? field }))
      )
    })
  )

interface SharedOptions {
  readonly template: Text
  readonly templateFile: Text
  readonly timeout: Text
  readonly maxConcurrent: Text
}

const sharedOf = (options: SharedOptions) =>
  Option.isSome(options.template) && Option.isSome(options.templateFile)
    ? Effect.fail(usage("give --template or --template-file, not both"))
    : Effect.succeed(
        Record.getSomes({
          prompt_template: Option.orElse(options.template, () => options.templateFile),
          timeout_seconds: Option.map(options.timeout, numberOrDefault),
          max_concurrent: Option.map(options.maxConcurrent, numberOrDefault)
        })
      )

export const draftOf = (
  options: SharedOptions & { readonly name: string; readonly team: string; readonly disabled: boolean }
) =>
  Effect.flatMap(sharedOf(options), (shared) =>
    decode(WebhookDraft, {
      name: options.name,
      team: options.team,
      // What a new webhook is not told is the default.
      ...Record.filter(shared, (value) => value !== null),
      ...(options.disabled && { enabled: false })
    })
  )

export const editOf = (options: SharedOptions & { readonly name: Text; readonly team: Text }) =>
  Effect.flatMap(sharedOf(options), (shared) => {
    const changes = { ...Record.getSomes({ name: options.name, team: options.team }), ...shared }
    return Object.keys(changes).length === 0
      ? Effect.fail(usage("nothing to change; see webhook-trigger webhook edit --help"))
      : decode(WebhookEdit, changes)
  })
