/** Where the ends of a webhook's runs are sent, and what was sent. */

import { Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import { DestinationWithSecret } from "../../api/delivery/Destinations.ts"
import { secretOverlapSeconds } from "../../api/webhook/Overlap.ts"
import { DeliveryAttempt } from "../../domain/delivery/Delivery.ts"
import { Destination } from "../../domain/delivery/Destination.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, done, show } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { fields, printable, table } from "../Output.ts"
import { deliveryCommands } from "./Deliveries.ts"
import { destination, fieldOptions, fieldsOf, kind, orNone } from "./DestinationOptions.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

export const stateOf = ({ disabled_reason, enabled, failing_since, paused }: Destination): string => {
  if (!enabled) return disabled_reason === undefined ? "off" : `off (${disabled_reason})`
  if (paused) return disabled_reason === undefined ? "paused" : `paused (${disabled_reason})`
  return failing_since === undefined ? "on" : "failing"
}

/** What commands without further options change. */
export const changes = {
  enable: { enabled: true },
  disable: { enabled: false },
  pause: { paused: true },
  resume: { paused: false }
} as const

const list = Command.make("list", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const { data } = yield* callOnWebhook(options, (client, { id }) => client.destinations.list({ path: { id } }))
    yield* show(options, Schema.Array(Destination), data, () =>
      data.length === 0
        ? "No destinations yet. Add one: webhook-trigger destination add --help"
        : table(
            ["ID", "STATE", "KIND", "EVENTS", "BODY", "URL"],
            data.map((one) => [one.id, stateOf(one), one.kind, one.events.join(" "), one.body, one.url])
          )
    )
  })
).pipe(Command.withDescription("List the destinations of a webhook"))

const add = Command.make("add", { webhook, kind, ...fieldOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = { ...(Option.isSome(options.kind) && { kind: options.kind.value }), ...fieldsOf(options) }
    const created = yield* callOnWebhook(options, (client, { id }) =>
      client.destinations.create({ path: { id }, payload })
    )
    yield* show(options, DestinationWithSecret, created, secretText)
  })
).pipe(
  Command.withDescription(
    about("Add a destination and print its signing secret, once", {
      details: "Each end of a run is sent: as a signed event, or as a message to the service that --kind names.",
      examples: [
        "webhook-trigger destination add review --to https://ci.example.com/hooks --events run.failed,run.timed_out",
        "webhook-trigger destination add ci --kind slack --to https://hooks.slack.com/services/T000/B000/XXXX",
        "webhook-trigger destination add pr --kind github --token-file token --target 'acme/shop#{{ values.number }}'"
      ]
    })
  )
)

export const secretText = ({ destination: { id, kind, url }, secret }: typeof DestinationWithSecret.Type): string =>
  secret === undefined
    ? fields({ destination: id, kind, url })
    : `${fields({ destination: id, url, secret })}\n\nThe signing secret is shown only once.`

const edit = Command.make(
  "edit",
  {
    ...{ webhook, destination, ...fieldOptions },
    noHeaders: Options.boolean("no-headers").pipe(Options.withDescription("Remove all headers")),
    ...adminOptions
  },
  (options) =>
    Effect.gen(function* () {
      const { description, ...given } = fieldsOf(options)
      const payload = {
        ...(description !== undefined && { description: description === "" ? null : description }),
        ...(options.noHeaders && { headers: {} }),
        ...given
      }
      const edited = yield* callOnWebhook(options, (client, { id }) =>
        orNone(
          "destination",
          options.destination
        )(client.destinations.edit({ path: { id, destination_id: options.destination }, payload }))
      )
      yield* show(options, Destination, edited, ({ body, description, events, header_names, kind, target, url }) =>
        fields({ kind, url, target, description, events: events.join(" "), body, headers: header_names.join(" ") })
      )
    })
).pipe(
  Command.withDescription(
    about("Edit a destination", {
      details: "Changes what is given. --header replaces all headers, and --description '' removes the description."
    })
  )
)

const toggle = (name: keyof typeof changes, description: string) =>
  Command.make(name, { webhook, destination, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const edited = yield* callOnWebhook(options, (client, { id }) =>
        orNone(
          "destination",
          options.destination
        )(
          client.destinations.edit({
            path: { id, destination_id: options.destination },
            payload: changes[name]
          })
        )
      )
      yield* show(options, Destination, edited, (one) => `The destination is ${stateOf(one)}.`)
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
          urlParams: { overlap_seconds: secretOverlapSeconds }
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

export const destinations: Group = {
  name: "destination",
  about: "Destinations: where the ends of a webhook's runs are sent.",
  commands: [
    list,
    add,
    edit,
    toggle("enable", "Switch a destination on"),
    toggle("disable", "Switch a destination off; its pending deliveries fail"),
    toggle("pause", "Pause a destination; its events are kept"),
    toggle("resume", "Resume a destination; what was kept is sent"),
    rotate,
    test,
    ...deliveryCommands,
    remove
  ]
}
