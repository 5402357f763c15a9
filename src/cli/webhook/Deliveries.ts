/** What was sent to the destinations of a webhook or of alerts, and sending it again. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DeliveryPage, Resent } from "../../api/delivery/Destinations.ts"
import { DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import { time as timeSchema } from "../../domain/Time.ts"
import { adminOptions, show } from "../Connection.ts"
import { table, time } from "../Output.ts"
import { validated } from "../Validated.ts"
import { callOnOwner, destinationId, type Owner, orNone } from "./DestinationOptions.ts"

const status = Flag.Choice("status", DeliveryStatus.literals).pipe(
  Flag.withDescription("Only deliveries in this state"),
  Flag.optional
)

const ofDestination = Flag.String("destination").pipe(
  Flag.withMetavar("id"),
  Flag.withDescription("Only deliveries to this destination"),
  Flag.optional
)

const deliveries = ({ webhook }: Owner) =>
  Command.make("deliveries", { webhook, status, ofDestination, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const urlParams = {
        limit: 100,
        ...(Option.isSome(options.status) && { status: options.status.value }),
        ...(Option.isSome(options.ofDestination) && { destination_id: options.ofDestination.value })
      }
      const page = yield* callOnOwner(options, (destinations, path) => destinations.deliveries({ path, urlParams }))
      yield* show(options, DeliveryPage, page, ({ data }) =>
        data.length === 0
          ? "No deliveries."
          : table(
              ["ID", "RUN OR ALERT", "EVENT", "STATUS", "ATTEMPTS", "NEXT", "LAST"],
              data.map((one) => [
                ...[
                  one.id,
                  one.run_id ?? one.alert_id,
                  one.event,
                  one.status,
                  one.attempts.length,
                  time(one.next_attempt_at)
                ],
                one.attempts.at(-1)?.error ?? one.attempts.at(-1)?.http_status
              ])
            )
      )
    })
  ).pipe(Command.withDescription("List the newest 100 deliveries"))

const deliveryId = ({ command }: Owner) =>
  Argument.String({ name: "delivery-id" }).pipe(
    Argument.withDescription(`The delivery's id, as \`${command} deliveries\` shows it`)
  )

const resend = (owner: Owner) =>
  Command.make("resend", { webhook: owner.webhook, delivery: deliveryId(owner), ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const resent = yield* callOnOwner(options, (destinations, path) =>
        orNone(
          options.webhook,
          "delivery",
          options.delivery
        )(destinations.resend({ path: { ...path, delivery_id: options.delivery } }))
      )
      yield* show(options, EventDelivery, resent, () => "The delivery is sent again.")
    })
  ).pipe(Command.withDescription("Send a delivery again, under the same id"))

const since = Flag.String("since").pipe(
  Flag.withMetavar("time"),
  Flag.withDescription("Only deliveries that failed at or after this time, such as 2026-01-02T00:00:00Z"),
  Flag.mapTryCatch(...validated("--since", timeSchema("")))
)

const resendFailed = (owner: Owner) =>
  Command.make(
    "resend-failed",
    { webhook: owner.webhook, destination: destinationId(owner), since, ...adminOptions },
    (options) =>
      Effect.gen(function* () {
        const resent = yield* callOnOwner(options, (destinations, path) =>
          orNone(
            options.webhook,
            "destination",
            options.destination
          )(
            destinations.resendFailed({
              path: { ...path, destination_id: options.destination },
              urlParams: { since: options.since }
            })
          )
        )
        yield* show(options, Resent, resent, (count) => `${count.resent} deliveries are sent again.`)
      })
  ).pipe(Command.withDescription("Send all failed deliveries of a destination again"))

export const deliveryCommands = (owner: Owner) => [deliveries(owner), resend(owner), resendFailed(owner)] as const
