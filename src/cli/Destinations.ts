/** Where the ends of a webhook's runs, or alerts, are sent, and what was sent. */
import type { DestinationWithSecret } from "../api/delivery/Destinations.ts"
import type { EventDelivery } from "../domain/delivery/Delivery.ts"
import type { Destination } from "../domain/delivery/Destination.ts"
import { alertEvents, runEvents } from "../domain/delivery/DestinationEvent.ts"
import { destinationKindNames } from "../domain/delivery/DestinationKind.ts"
import { derived, group, type Leaf } from "./Command.ts"
import { refused } from "./Failure.ts"
import { fieldRule, flag, type Rules } from "./Input.ts"
import { fields, listText, printable, shortId, shortIdOf, time } from "./Output.ts"

/** Whose destinations the commands are about: a webhook's, or those of alerts. */
interface Owner {
  readonly api: "destinations" | "alertDestinations"
  readonly about: string
  /** The words before the names of these commands. */
  readonly command: string
  /** The name for a destination, with its article. */
  readonly one: string
  readonly events: ReadonlyArray<string>
  readonly defaultEvents: string
  readonly examples: ReadonlyArray<string>
}

const stateOf = ({ disabled_reason, enabled, failing_since, paused }: Destination): string => {
  if (!enabled) return disabled_reason === undefined ? "off" : `off (${disabled_reason})`
  if (paused) return disabled_reason === undefined ? "paused" : `paused (${disabled_reason})`
  return failing_since === undefined ? "on" : "failing"
}

const secretText = ({ destination: { id, kind, url }, secret }: typeof DestinationWithSecret.Type): string =>
  secret === undefined
    ? fields({ destination: id, kind, url })
    : `${fields({ destination: id, url, secret })}\n\nThe signing secret is shown only once.`

const commandsOf = ({ about, api, command, defaultEvents, events, examples, one }: Owner): Leaf => {
  const what = one.replace(/^an? /, "")
  const rules: Rules = {
    events: () =>
      flag(
        "events",
        {
          value: "list",
          about: `The events to send, separated by commas: ${events.join(" ")} (default: ${defaultEvents})`
        },
        // A name that is none of these is refused as if it were no event.
        ([text]) => text.split(",").map((name) => (events.includes(name) ? name : "")),
        { accepts: `takes some of ${events.join(", ")}, separated by commas, each once` }
      ),
    kind: (field) => fieldRule(field, { about: `What gets it; default: ${destinationKindNames[0]}` }),
    target: (field) => fieldRule(field, { value: "template" })
  }
  const toggle = (name: string, about: string, payload: { readonly enabled: boolean } | { readonly paused: boolean }) =>
    derived(name, `${api}.edit`, {
      about,
      set: { payload },
      text: (destination) => `The destination is ${stateOf(destination)}.`
    })
  return group("destination", about, [
    derived("list", `${api}.list`, {
      json: dataOf,
      text: listText<Destination>(
        { URL: "url", ID: shortIdOf, STATE: stateOf, KIND: "kind", EVENTS: "events", BODY: "body" },
        `No ${what}s yet. Add one: webhook-trigger ${command} add --help`
      )
    }),
    derived("add", `${api}.create`, {
      about: `Add ${one} and print its signing secret, once`,
      details: "It gets signed events, or messages to the service that --kind names.",
      ...{ examples, rules },
      text: secretText
    }),
    derived("edit", `${api}.edit`, {
      details: "Changes what is given. --header replaces all headers, and --description '' removes the description.",
      rules,
      text: ({ body, description, events, header_names, kind, target, url }) =>
        fields({ kind, url, target, description, events: events.join(" "), body, headers: header_names.join(" ") })
    }),
    toggle("enable", `Switch ${one} on`, { enabled: true }),
    toggle("disable", `Switch ${one} off; its pending deliveries fail`, { enabled: false }),
    toggle("pause", `Pause ${one}; its events are kept`, { paused: true }),
    toggle("resume", `Resume ${one}; what was kept is sent`, { paused: false }),
    derived("rotate-secret", `${api}.rotateSecret`, {
      text: secretText
    }),
    derived("test", `${api}.test`, {
      refuse: ({ error }) => (error === undefined ? undefined : refused(`Not delivered: ${printable(error)}`)),
      text: ({ duration_ms, http_status }) => `Delivered: status ${http_status}, ${duration_ms} ms.`
    }),
    derived("deliveries", `${api}.deliveries`, {
      about: "List the newest 100 deliveries",
      set: { query: { limit: "100" } },
      text: listText<EventDelivery>(
        {
          ...{ EVENT: "event", STATUS: "status" },
          "RUN OR ALERT": ({ alert_id, run_id }) => shortId(run_id ?? alert_id ?? "-"),
          ...{ ID: shortIdOf, ATTEMPTS: ({ attempts }) => attempts.length },
          LAST: ({ attempts }) => attempts.at(-1)?.error ?? attempts.at(-1)?.http_status,
          NEXT: ({ next_attempt_at }) => time(next_attempt_at)
        },
        "No deliveries."
      )
    }),
    derived("resend", `${api}.resend`, { text: () => "The delivery is sent again." }),
    derived("resend-failed", `${api}.resendFailed`, {
      text: ({ resent }) => `${resent} deliveries are sent again.`
    }),
    derived("delete", `${api}.delete`, {
      ask: () => `Delete the ${what} and all its deliveries?`,
      text: () => "Destination and its deliveries deleted."
    })
  ])
}

/** Lists that have always been printed without their page. */
export const dataOf = (list: unknown): unknown => (list as { readonly data: unknown }).data

export const destinations = commandsOf({
  api: "destinations",
  about: "Destinations: where the ends of a webhook's runs are sent.",
  command: "destination",
  one: "a destination",
  events: runEvents,
  defaultEvents: "all but run.awaiting_approval and run.started",
  examples: [
    "webhook-trigger destination add review --to https://ci.example.com/hooks --events run.failed,run.timed_out",
    "webhook-trigger destination add ci --kind slack --to https://hooks.slack.com/services/T000/B000/XXXX",
    "webhook-trigger destination add pr --kind github --token-file token --target 'acme/shop#{{ values.number }}'"
  ]
})

export const alertDestinations = commandsOf({
  api: "alertDestinations",
  about: "Alert destinations: where alerts are sent.",
  command: "alert destination",
  one: "an alert destination",
  events: alertEvents,
  defaultEvents: "both",
  examples: ["webhook-trigger alert destination add --kind slack --to https://hooks.slack.com/services/T000/B000/XXXX"]
})
