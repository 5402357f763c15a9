/** Where the ends of a webhook's runs, or alerts, are sent, and what was sent. */
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
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
import {
  callOnOwner,
  destinationId,
  fieldOptions,
  fieldsOf,
  kind,
  type Owner,
  ofAlerts,
  ofWebhook,
  orNone
} from "./DestinationOptions.ts"

const stateOf = ({ disabled_reason, enabled, failing_since, paused }: Destination): string => {
  if (!enabled) return disabled_reason === undefined ? "off" : `off (${disabled_reason})`
  if (paused) return disabled_reason === undefined ? "paused" : `paused (${disabled_reason})`
  return failing_since === undefined ? "on" : "failing"
}

/** What commands without further options change. */
const changes = {
  enable: { enabled: true },
  disable: { enabled: false },
  pause: { paused: true },
  resume: { paused: false }
} as const

const list = ({ command, webhook, what }: Owner) =>
  Command.make("list", { webhook, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const { data } = yield* callOnOwner(options, (destinations, path) => destinations.list({ path }))
      yield* show(options, Schema.Array(Destination), data, () =>
        data.length === 0
          ? `No ${what}s yet. Add one: webhook-trigger ${command} add --help`
          : table(
              ["ID", "STATE", "KIND", "EVENTS", "BODY", "URL"],
              data.map((one) => [one.id, stateOf(one), one.kind, one.events.join(" "), one.body, one.url])
            )
      )
    })
  ).pipe(Command.withDescription(`List the ${what}s`))

const add = (owner: Owner) =>
  Command.make("add", { webhook: owner.webhook, kind, ...fieldOptions(owner), ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const payload = { ...(Option.isSome(options.kind) && { kind: options.kind.value }), ...fieldsOf(options) }
      const created = yield* callOnOwner(options, (destinations, path) => destinations.create({ path, payload }))
      yield* show(options, DestinationWithSecret, created, secretText)
    })
  ).pipe(
    Command.withDescription(
      about(`Add ${owner.one} and print its signing secret, once`, {
        details: "It gets signed events, or messages to the service that --kind names.",
        examples: owner.examples
      })
    )
  )

const secretText = ({ destination: { id, kind, url }, secret }: typeof DestinationWithSecret.Type): string =>
  secret === undefined
    ? fields({ destination: id, kind, url })
    : `${fields({ destination: id, url, secret })}\n\nThe signing secret is shown only once.`

const edit = (owner: Owner) =>
  Command.make(
    "edit",
    {
      ...{ webhook: owner.webhook, destination: destinationId(owner), ...fieldOptions(owner) },
      noHeaders: Flag.Boolean("no-headers").pipe(Flag.withDescription("Remove all headers")),
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
        const edited = yield* callOnOwner(options, (destinations, path) =>
          orNone(
            options.webhook,
            "destination",
            options.destination
          )(destinations.edit({ path: { ...path, destination_id: options.destination }, payload }))
        )
        yield* show(options, Destination, edited, ({ body, description, events, header_names, kind, target, url }) =>
          fields({ kind, url, target, description, events: events.join(" "), body, headers: header_names.join(" ") })
        )
      })
  ).pipe(
    Command.withDescription(
      about(`Edit ${owner.one}`, {
        details: "Changes what is given. --header replaces all headers, and --description '' removes the description."
      })
    )
  )

const toggle = (owner: Owner, name: keyof typeof changes, description: string) =>
  Command.make(name, { webhook: owner.webhook, destination: destinationId(owner), ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const edited = yield* callOnOwner(options, (destinations, path) =>
        orNone(
          options.webhook,
          "destination",
          options.destination
        )(
          destinations.edit({
            path: { ...path, destination_id: options.destination },
            payload: changes[name]
          })
        )
      )
      yield* show(options, Destination, edited, (one) => `The destination is ${stateOf(one)}.`)
    })
  ).pipe(Command.withDescription(description))

const rotate = (owner: Owner) =>
  Command.make(
    "rotate-secret",
    { webhook: owner.webhook, destination: destinationId(owner), ...adminOptions },
    (options) =>
      Effect.gen(function* () {
        const rotated = yield* callOnOwner(options, (destinations, path) =>
          orNone(
            options.webhook,
            "destination",
            options.destination
          )(
            destinations.rotateSecret({
              path: { ...path, destination_id: options.destination },
              urlParams: { overlap_seconds: secretOverlapSeconds }
            })
          )
        )
        yield* show(options, DestinationWithSecret, rotated, secretText)
      })
  ).pipe(Command.withDescription("Replace the signing secret; for a day, deliveries are signed with both"))

const test = (owner: Owner) =>
  Command.make("test", { webhook: owner.webhook, destination: destinationId(owner), ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const attempt = yield* callOnOwner(options, (destinations, path) =>
        orNone(
          options.webhook,
          "destination",
          options.destination
        )(destinations.test({ path: { ...path, destination_id: options.destination } }))
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

const remove = (owner: Owner) =>
  Command.make(
    "delete",
    { webhook: owner.webhook, destination: destinationId(owner), yes, ...adminOptions },
    (options) =>
      Effect.gen(function* () {
        yield* callOnOwner(options, (destinations, path) =>
          Effect.andThen(
            confirm(options.yes, `Delete the ${owner.what} and all its deliveries?`),
            orNone(
              options.webhook,
              "destination",
              options.destination
            )(destinations.delete({ path: { ...path, destination_id: options.destination } }))
          )
        )
        yield* done(options, "Destination and its deliveries deleted.")
      })
  ).pipe(Command.withDescription(`Delete ${owner.one} and its deliveries`))

const commandsOf = (owner: Owner): Group["commands"] => [
  list(owner),
  add(owner),
  edit(owner),
  toggle(owner, "enable", `Switch ${owner.one} on`),
  toggle(owner, "disable", `Switch ${owner.one} off; its pending deliveries fail`),
  toggle(owner, "pause", `Pause ${owner.one}; its events are kept`),
  toggle(owner, "resume", `Resume ${owner.one}; what was kept is sent`),
  rotate(owner),
  test(owner),
  ...deliveryCommands(owner),
  remove(owner)
]

export const destinations: Group = {
  name: "destination",
  about: "Destinations: where the ends of a webhook's runs are sent.",
  commands: commandsOf(ofWebhook)
}

export const alertDestinations: Group = {
  name: "destination",
  about: "Alert destinations: where alerts are sent.",
  commands: commandsOf(ofAlerts)
}
