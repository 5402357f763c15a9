/** Whose destination is meant, which one, and its fields. */
import { Effect, Option, Schema } from "effect"
import { Argument, type Command, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import { BodyFormat } from "../../domain/delivery/Destination.ts"
import { alertEvents, type DestinationEvent, runEvents } from "../../domain/delivery/DestinationEvent.ts"
import { type DestinationKind, destinationKindNames } from "../../domain/delivery/DestinationKind.ts"
import { type Connection, call } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { validated } from "../Validated.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

type Requests = Client["destinations"]

/** Whose destinations the commands are about: a webhook's, or those of alerts. */
export interface Owner {
  readonly webhook: Argument.Args<string | undefined>
  /** The words before the names of these commands. */
  readonly command: string
  /** What a destination is called, with its article. */
  readonly one: string
  readonly what: string
  readonly events: readonly [DestinationEvent, ...Array<DestinationEvent>]
  readonly defaultEvents: string
  readonly examples: readonly [string, ...Array<string>]
}

export const ofWebhook: Owner = {
  webhook,
  command: "destination",
  one: "a destination",
  what: "destination",
  events: runEvents,
  defaultEvents: "all but run.awaiting_approval and run.started",
  examples: [
    "webhook-trigger destination add review --to https://ci.example.com/hooks --events run.failed,run.timed_out",
    "webhook-trigger destination add ci --kind slack --to https://hooks.slack.com/services/T000/B000/XXXX",
    "webhook-trigger destination add pr --kind github --token-file token --target 'acme/shop#{{ values.number }}'"
  ]
}

export const ofAlerts: Owner = {
  webhook: Argument.map(Argument.none, () => undefined),
  command: "alert destination",
  one: "an alert destination",
  what: "alert destination",
  events: alertEvents,
  defaultEvents: "both",
  examples: ["webhook-trigger alert destination add --kind slack --to https://hooks.slack.com/services/T000/B000/XXXX"]
}

/** Calls the server about the owner's destinations. `path` is what their paths have in common. */
export const callOnOwner = <A, E, R>(
  options: Connection & { readonly webhook: string | undefined },
  request: (destinations: Requests, path: { readonly id?: string }) => Effect.Effect<A, E, R>
) => {
  const { webhook } = options
  return webhook === undefined
    ? call(options, (client) => request(client.alertDestinations, {}))
    : callOnWebhook({ ...options, webhook }, (client, { id }) => request(client.destinations, { id }))
}

export const destinationId = ({ command }: Owner) =>
  Argument.String({ name: "destination-id" }).pipe(
    Argument.withDescription(`The destination's id, as \`${command} list\` shows it`)
  )

const isNotFound = Schema.is(Schema.Struct({ status: Schema.Literal(404) }))

/** The webhook exists, so a 404 is about what belongs to it. */
export const orNone =
  (webhook: string | undefined, what: "delivery" | "destination", id: string) =>
  <A, E, R>(request: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      request,
      isNotFound,
      () =>
        new Failure({
          exit: exitCodes.refused,
          title:
            webhook === undefined
              ? `No ${what} of alerts has the id ${JSON.stringify(id)}`
              : `The webhook has no ${what} ${JSON.stringify(id)}`
        })
    )

const eventList = (names: Owner["events"]) =>
  Schema.compose(Schema.split(","), Schema.NonEmptyArray(Schema.Literals(names))).pipe(
    Schema.check(Schema.makeFilter((events) => new Set(events).size === events.length)),
    Schema.annotate({
      message: () => ({ message: `takes some of ${names.join(", ")}, separated by commas, each once`, override: true })
    })
  )

const parseHeader = (text: string) =>
  Option.map(Option.fromNullishOr(/^([^:\s]+):\s*(.*)$/.exec(text)), ([, name, value]) => [name!, value!] as const)

const kindName = Schema.Literals(destinationKindNames).annotate({
  message: () => ({ message: `takes one of ${destinationKindNames.join(", ")}`, override: true })
})

export const kind = Flag.String("kind").pipe(
  Flag.withMetavar("kind"),
  Flag.withDescription(`What gets it: ${destinationKindNames.join(", ")} (default: ${destinationKindNames[0]})`),
  Flag.mapTryCatch(...validated<DestinationKind>("--kind", kindName)),
  Flag.optional
)

export const fieldOptions = ({ defaultEvents, events }: Owner) => ({
  to: Flag.String("to").pipe(
    Flag.withMetavar("url"),
    Flag.withDescription("Where it is sent: a webhook's URL, or a service's own API"),
    Flag.optional
  ),
  token: Flag.fileText("token-file").pipe(
    Flag.withDescription("A file with the token of slack-message, github or gitlab, stored encrypted"),
    Flag.map(([, text]) => text.trim()),
    Flag.optional
  ),
  target: Flag.String("target").pipe(
    Flag.withMetavar("template"),
    Flag.withDescription(
      "The channel, issue, response URL, addresses or webhook, such as 'acme/shop#{{ values.number }}'"
    ),
    Flag.optional
  ),
  description: Flag.String("description").pipe(Flag.withDescription("What it is for"), Flag.optional),
  events: Flag.String("events").pipe(
    Flag.withMetavar("list"),
    Flag.withDescription(`The events to send, separated by commas: ${events.join(" ")} (default: ${defaultEvents})`),
    Flag.mapTryCatch(...validated<Owner["events"]>("--events", eventList(events))),
    Flag.optional
  ),
  body: Flag.Choice("body", BodyFormat.literals).pipe(
    Flag.withDescription("`thin`: the status. `full`: also the answer. `template`: a Liquid template"),
    Flag.optional
  ),
  template: Flag.fileText("template-file").pipe(
    Flag.withDescription("A file with the Liquid template, over event, run, webhook and values"),
    Flag.map(([, text]) => text),
    Flag.optional
  ),
  headers: Flag.String("header").pipe(
    Flag.withMetavar("'Name: value'"),
    Flag.withDescription("A header to send, stored encrypted; repeatable"),
    Flag.repeated,
    Flag.filterMap(
      (texts) => Option.all(texts.map(parseHeader)),
      "--header takes a name and a value, such as 'Authorization: Bearer x'"
    )
  )
})

type FieldOptions = Command.Command.ParseConfig<ReturnType<typeof fieldOptions>>

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
