/** Where the ends of a webhook's runs are sent, and what was sent. */
import { Args, Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import { DeliveryPage, DestinationWithSecret, Resent } from "../../api/delivery/Destinations.ts"
import { DeliveryAttempt, DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import { BodyFormat, Destination } from "../../domain/delivery/Destination.ts"
import { allEvents, type DestinationEvent } from "../../domain/delivery/DestinationEvent.ts"
import { time as timeSchema } from "../../domain/Time.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, done, show } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { fields, printable, table, time } from "../Output.ts"
import { validated } from "../Validated.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

const destination = Args.text({ name: "destination-id" }).pipe(
  Args.withDescription("The destination's id, as `destination list` shows it")
)

const isNotFound = Schema.is(Schema.Struct({ status: Schema.Literal(404) }))

/** The webhook exists, so a 404 is about what belongs to it. */
const orNone =
  (what: string, id: string) =>
  <A, E, R>(request: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      request,
      isNotFound,
      () => new Failure({ exit: exitCodes.refused, title: `The webhook has no ${what} ${JSON.stringify(id)}` })
    )

const stateOf = ({ disabled_reason, enabled, failing_since }: Destination): string => {
  if (!enabled) return disabled_reason === undefined ? "off" : `off (${disabled_reason})`
  return failing_since === undefined ? "on" : "failing"
}

const list = Command.make("list", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const { data } = yield* callOnWebhook(options, (client, { id }) => client.destinations.list({ path: { id } }))
    yield* show(options, Schema.Array(Destination), data, () =>
      data.length === 0
        ? "No destinations yet. Add one: webhook-trigger destination add --help"
        : table(
            ["ID", "STATE", "EVENTS", "BODY", "URL"],
            data.map((one) => [one.id, stateOf(one), one.events.join(" "), one.body, one.url])
          )
    )
  })
).pipe(Command.withDescription("List the destinations of a webhook"))

const eventList = Schema.compose(Schema.split(","), Schema.NonEmptyArray(Schema.Literal(...allEvents))).annotations({
  message: () => ({ message: `takes some of ${allEvents.join(", ")}, separated by commas`, override: true })
})

const parseHeader = (text: string) =>
  Option.map(Option.fromNullable(/^([^:\s]+):\s*(.*)$/.exec(text)), ([, name, value]) => [name!, value!] as const)

const draftOptions = {
  to: Options.text("to").pipe(Options.withPseudoName("url"), Options.withDescription("Where events are sent")),
  description: Options.text("description").pipe(Options.withDescription("What it is for"), Options.optional),
  events: Options.text("events").pipe(
    Options.withPseudoName("list"),
    Options.withDescription(`The events to send: ${allEvents.join(",")} (default: all)`),
    Options.mapTryCatch(...validated<readonly [DestinationEvent, ...Array<DestinationEvent>]>("--events", eventList)),
    Options.optional
  ),
  body: Options.choice("body", BodyFormat.literals).pipe(
    Options.withDescription("`thin`: IDs and status. `full`: also the answer. `template`: a Liquid template"),
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

const add = Command.make("add", { webhook, ...draftOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const { body, description, events, headers, template, to } = options
    const payload = {
      url: to,
      ...(Option.isSome(description) && { description: description.value }),
      ...(Option.isSome(events) && { events: events.value }),
      ...(Option.isSome(body) && { body: body.value }),
      ...(Option.isSome(template) && { template: template.value }),
      ...(headers.length > 0 && { headers: Object.fromEntries(headers) })
    }
    const created = yield* callOnWebhook(options, (client, { id }) =>
      client.destinations.create({ path: { id }, payload })
    )
    yield* show(options, DestinationWithSecret, created, secretText)
  })
).pipe(
  Command.withDescription(
    about("Add a destination and print its signing secret, once", {
      details: "Each end of a run is sent by POST, signed as the Standard Webhooks specification describes.",
      examples: [
        "webhook-trigger destination add review --to https://ci.example.com/hooks --events run.failed,run.timed_out",
        "webhook-trigger destination add ci --to https://chat.example.com --body template --template-file a.liquid"
      ]
    })
  )
)

const secretText = ({ destination: { id, url }, secret }: typeof DestinationWithSecret.Type): string =>
  `${fields({ destination: id, url, secret })}\n\nThe signing secret is shown only once.`

const toggle = (name: "enable" | "disable", description: string) =>
  Command.make(name, { webhook, destination, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const edited = yield* callOnWebhook(options, (client, { id }) =>
        orNone(
          "destination",
          options.destination
        )(
          client.destinations.edit({
            path: { id, destination_id: options.destination },
            payload: { enabled: name === "enable" }
          })
        )
      )
      yield* show(options, Destination, edited, (one) => `The destination is ${one.enabled ? "on" : "off"}.`)
    })
  ).pipe(Command.withDescription(description))

const rotate = Command.make("rotate-secret", { webhook, destination, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const rotated = yield* callOnWebhook(options, (client, { id }) =>
      orNone(
        "destination",
        options.destination
      )(
        client.destinations.rotateSecret({
          path: { id, destination_id: options.destination },
          urlParams: { overlap_seconds: 86_400 }
        })
      )
    )
    yield* show(options, DestinationWithSecret, rotated, secretText)
  })
).pipe(Command.withDescription("Replace the signing secret; for a day, deliveries are signed with both"))

const test = Command.make("test", { webhook, destination, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const attempt = yield* callOnWebhook(options, (client, { id }) =>
      orNone(
        "destination",
        options.destination
      )(client.destinations.test({ path: { id, destination_id: options.destination } }))
    )
    if (attempt.error !== undefined) {
      return yield* new Failure({ exit: exitCodes.refused, title: `Not delivered: ${printable(attempt.error)}` })
    }
    yield* show(
      options,
      DeliveryAttempt,
      attempt,
      () => `Delivered: status ${attempt.http_status}, ${attempt.duration_ms} ms.`
    )
  })
).pipe(Command.withDescription("Send a test event now"))

const remove = Command.make("delete", { webhook, destination, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* callOnWebhook(options, (client, { id }) =>
      Effect.zipRight(
        confirm(options.yes, "Delete the destination and all its deliveries?"),
        orNone(
          "destination",
          options.destination
        )(client.destinations.delete({ path: { id, destination_id: options.destination } }))
      )
    )
    yield* done(options, "Destination and its deliveries deleted.")
  })
).pipe(Command.withDescription("Delete a destination and its deliveries"))

const status = Options.choice("status", DeliveryStatus.literals).pipe(
  Options.withDescription("Only deliveries in this state"),
  Options.optional
)

const deliveries = Command.make("deliveries", { webhook, status, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const urlParams = { limit: 100, ...(Option.isSome(options.status) && { status: options.status.value }) }
    const page = yield* callOnWebhook(options, (client, { id }) =>
      client.destinations.deliveries({ path: { id }, urlParams })
    )
    yield* show(options, DeliveryPage, page, ({ data }) =>
      data.length === 0
        ? "No deliveries."
        : table(
            ["ID", "RUN", "EVENT", "STATUS", "ATTEMPTS", "NEXT", "LAST"],
            data.map((one) => [
              ...[one.id, one.run_id, one.event, one.status, one.attempts.length, time(one.next_attempt_at)],
              one.attempts.at(-1)?.error ?? one.attempts.at(-1)?.http_status
            ])
          )
    )
  })
).pipe(Command.withDescription("List the newest 100 deliveries of a webhook"))

const delivery = Args.text({ name: "delivery-id" }).pipe(
  Args.withDescription("The delivery's id, as `destination deliveries` shows it")
)

const resend = Command.make("resend", { webhook, delivery, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const resent = yield* callOnWebhook(options, (client, { id }) =>
      orNone("delivery", options.delivery)(client.destinations.resend({ path: { id, delivery_id: options.delivery } }))
    )
    yield* show(options, EventDelivery, resent, () => "The delivery is sent again.")
  })
).pipe(Command.withDescription("Send a delivery again, under the same id"))

const since = Options.text("since").pipe(
  Options.withPseudoName("time"),
  Options.withDescription("Only deliveries that failed at or after this time, such as 2026-01-02T00:00:00Z"),
  Options.mapTryCatch(...validated("--since", timeSchema("")))
)

const resendFailed = Command.make("resend-failed", { webhook, destination, since, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const resent = yield* callOnWebhook(options, (client, { id }) =>
      orNone(
        "destination",
        options.destination
      )(
        client.destinations.resendFailed({
          path: { id, destination_id: options.destination },
          urlParams: { since: options.since }
        })
      )
    )
    yield* show(options, Resent, resent, (count) => `${count.resent} deliveries are sent again.`)
  })
).pipe(Command.withDescription("Send all failed deliveries of a destination again"))

export const destinations: Group = {
  name: "destination",
  about: "Destinations: where the ends of a webhook's runs are sent.",
  commands: [
    list,
    add,
    toggle("enable", "Switch a destination on"),
    toggle("disable", "Switch a destination off; its pending deliveries fail"),
    rotate,
    test,
    deliveries,
    resend,
    resendFailed,
    remove
  ]
}
