/** What is wrong now. */
import { Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import { Alert, AlertState, describeAlert } from "../../domain/alert/Alert.ts"
import type { Group } from "../Commands.ts"
import { adminOptions, call, show } from "../Connection.ts"
import { table, time } from "../Output.ts"
import { alertDestinations } from "../webhook/Destinations.ts"
import { rules } from "./Rules.ts"

const state = Options.choice("state", AlertState.literals).pipe(
  Options.withDescription("Only alerts in this state"),
  Options.optional
)

const list = Command.make("list", { state, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const urlParams = { limit: 100, ...(Option.isSome(options.state) && { state: options.state.value }) }
    const { data } = yield* call(options, (client) => client.alerts.list({ urlParams }))
    yield* show(options, Schema.Array(Alert), data, () =>
      data.length === 0
        ? "No alerts."
        : table(
            ["STATE", "SINCE", "RESOLVED", "ALERT"],
            data.map((one) => [one.state, time(one.since), time(one.resolved_at), describeAlert(one)])
          )
    )
  })
).pipe(Command.withDescription("List the newest 100 alerts"))

export const alerts: Group = {
  name: "alert",
  about: "Alerts: what is wrong now, when alerts begin, and who gets them.",
  commands: [list, rules, alertDestinations]
}
