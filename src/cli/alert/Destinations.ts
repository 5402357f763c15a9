/** Where alerts are sent. */
import { Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import { DestinationWithSecret } from "../../api/delivery/Destinations.ts"
import { DeliveryAttempt } from "../../domain/delivery/Delivery.ts"
import { Destination } from "../../domain/delivery/Destination.ts"
import { alertEvents } from "../../domain/delivery/DestinationEvent.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { printable, table } from "../Output.ts"
import { destination, fieldOptions, fieldsOf, kind } from "../webhook/DestinationOptions.ts"
import { changes, secretText, stateOf } from "../webhook/Destinations.ts"

const notFound = (id: string) =>
  `No alert destination has the id ${JSON.stringify(id)}; see webhook-trigger alert destination list`

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const { data } = yield* call(options, (client) => client.alertDestinations.list())
    yield* show(options, Schema.Array(Destination), data, () =>
      data.length === 0
        ? "No alert destinations yet. Add one: webhook-trigger alert destination add --help"
        : table(
            ["ID", "STATE", "KIND", "EVENTS", "URL"],
            data.map((one) => [one.id, stateOf(one), one.kind, one.events.join(" "), one.url])
          )
    )
  })
).pipe(Command.withDescription("List the alert destinations"))

const { events: _, ...others } = fieldOptions
const fields = {
  ...others,
  resolved: Options.boolean("no-resolved").pipe(
    Options.withDescription("Send no message when an alert is resolved"),
    Options.map((without) => !without)
  )
}

const add = Command.make("add", { kind, ...fields, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = {
      ...(Option.isSome(options.kind) && { kind: options.kind.value }),
      ...fieldsOf({ ...options, events: Option.none() }),
      ...(!options.resolved && { events: [alertEvents[0]] as const })
    }
    const created = yield* call(options, (client) => client.alertDestinations.create({ payload }))
    yield* show(options, DestinationWithSecret, created, secretText)
  })
).pipe(
  Command.withDescription(
    about("Add an alert destination and print its signing secret, once", {
      details: "It gets a signed event, or a message to the service that --kind names.",
      examples: [
        "webhook-trigger alert destination add --kind slack --to https://hooks.slack.com/services/T000/B000/XXXX"
      ]
    })
  )
)

const toggle = (name: keyof typeof changes, description: string) =>
  Command.make(name, { destination, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const edited = yield* call(
        options,
        (client) =>
          client.alertDestinations.edit({
            path: { destination_id: options.destination },
            payload: changes[name]
          }),
        notFound(options.destination)
      )
      yield* show(options, Destination, edited, (one) => `The destination is ${stateOf(one)}.`)
    })
  ).pipe(Command.withDescription(description))

const test = Command.make("test", { destination, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const attempt = yield* call(
      options,
      (client) => client.alertDestinations.test({ path: { destination_id: options.destination } }),
      notFound(options.destination)
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
).pipe(Command.withDescription("Send a test alert now"))

const remove = Command.make("delete", { destination, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, "Delete the alert destination and all its deliveries?")
    yield* call(
      options,
      (client) => client.alertDestinations.delete({ path: { destination_id: options.destination } }),
      notFound(options.destination)
    )
    yield* done(options, "Alert destination and its deliveries deleted.")
  })
).pipe(Command.withDescription("Delete an alert destination and its deliveries"))

export const alertDestinations: Group = {
  name: "destination",
  about: "Alert destinations: where alerts are sent.",
  commands: [
    list,
    add,
    toggle("enable", "Switch an alert destination on"),
    toggle("disable", "Switch an alert destination off; its pending deliveries fail"),
    toggle("pause", "Pause an alert destination; its events are kept"),
    toggle("resume", "Resume an alert destination; what was kept is sent"),
    test,
    remove
  ]
}
