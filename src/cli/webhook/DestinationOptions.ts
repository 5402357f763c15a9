/** Which destination is meant, and its fields. */
import { Args, type Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import { BodyFormat } from "../../domain/delivery/Destination.ts"
import { type DestinationRunEvent, runEvents } from "../../domain/delivery/DestinationEvent.ts"
import { type DestinationKind, destinationKindNames } from "../../domain/delivery/DestinationKind.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { validated } from "../Validated.ts"

export const destination = Args.text({ name: "destination-id" }).pipe(
  Args.withDescription("The destination's id, as `destination list` shows it")
)

const isNotFound = Schema.is(Schema.Struct({ status: Schema.Literal(404) }))

/** The webhook exists, so a 404 is about what belongs to it. */
export const orNone =
  (what: string, id: string) =>
  <A, E, R>(request: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      request,
      isNotFound,
      () => new Failure({ exit: exitCodes.refused, title: `The webhook has no ${what} ${JSON.stringify(id)}` })
    )

const eventList = Schema.compose(Schema.split(","), Schema.NonEmptyArray(Schema.Literal(...runEvents))).pipe(
  Schema.filter((events) => new Set(events).size === events.length),
  Schema.annotations({
    message: () => ({
      message: `takes some of ${runEvents.join(", ")}, separated by commas, each once`,
      override: true
    })
  })
)

const parseHeader = (text: string) =>
  Option.map(Option.fromNullable(/^([^:\s]+):\s*(.*)$/.exec(text)), ([, name, value]) => [name!, value!] as const)

const kindName = Schema.Literal(...destinationKindNames).annotations({
  message: () => ({ message: `takes one of ${destinationKindNames.join(", ")}`, override: true })
})

export const kind = Options.text("kind").pipe(
  Options.withPseudoName("kind"),
  Options.withDescription(`What gets it: ${destinationKindNames.join(", ")} (default: ${destinationKindNames[0]})`),
  Options.mapTryCatch(...validated<DestinationKind>("--kind", kindName)),
  Options.optional
)

export const fieldOptions = {
  to: Options.text("to").pipe(
    Options.withPseudoName("url"),
    Options.withDescription("Where it is sent: a webhook's URL, or a service's own API"),
    Options.optional
  ),
  token: Options.fileText("token-file").pipe(
    Options.withDescription("A file with the token of slack-message, github or gitlab, stored encrypted"),
    Options.map(([, text]) => text.trim()),
    Options.optional
  ),
  target: Options.text("target").pipe(
    Options.withPseudoName("template"),
    Options.withDescription(
      "The channel, issue, response URL, addresses or webhook, such as 'acme/shop#{{ values.number }}'"
    ),
    Options.optional
  ),
  description: Options.text("description").pipe(Options.withDescription("What it is for"), Options.optional),
  events: Options.text("events").pipe(
    Options.withPseudoName("list"),
    Options.withDescription(`The events to send: ${runEvents.join(",")} (default: all but run.started)`),
    Options.mapTryCatch(
      ...validated<readonly [DestinationRunEvent, ...Array<DestinationRunEvent>]>("--events", eventList)
    ),
    Options.optional
  ),
  body: Options.choice("body", BodyFormat.literals).pipe(
    Options.withDescription("`thin`: the status. `full`: also the answer. `template`: a Liquid template"),
    Options.optional
  ),
  template: Options.fileText("template-file").pipe(
    Options.withDescription("A file with the Liquid template, over event, run, webhook and values"),
    Options.map(([, text]) => text),
    Options.optional
  ),
  headers: Options.text("header").pipe(
    Options.withPseudoName("'Name: value'"),
    Options.withDescription("A header to send, stored encrypted; repeatable"),
    Options.repeated,
    Options.filterMap(
      (texts) => Option.all(texts.map(parseHeader)),
      "--header takes a name and a value, such as 'Authorization: Bearer x'"
    )
  )
}

type FieldOptions = Command.Command.ParseConfig<typeof fieldOptions>

/** The fields that are given. */
export const fieldsOf = ({ body, description, events, headers, target, template, to, token }: FieldOptions) => ({
  ...(Option.isSome(to) && { url: to.value }),
  ...(Option.isSome(token) && { token: token.value }),
  ...(Option.isSome(target) && { target: target.value }),
  ...(Option.isSome(description) && { description: description.value }),
  ...(Option.isSome(events) && { events: events.value }),
  ...(Option.isSome(body) && { body: body.value }),
  ...(Option.isSome(template) && { template: template.value }),
  ...(headers.length > 0 && { headers: Object.fromEntries(headers) })
})
