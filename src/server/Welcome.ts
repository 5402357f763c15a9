import { Duration, Option, Redacted } from "effect"
import { pages } from "../api/Pages.ts"
import { triggerUrl } from "../api/run/TriggerUrl.ts"
import { ownCommand } from "../cli/OwnCommand.ts"
import { isLoopback, tunnels } from "../domain/Loopback.ts"
import * as SignInLink from "../engine/access/SignInLink.ts"
import { presets } from "../leader/agents/Presets.ts"
import * as Drivers from "./drivers/Drivers.ts"
import type { FirstWebhook } from "./leaders/FirstWebhook.ts"
import type { LocalTeam } from "./leaders/LocalLeaders.ts"

const trigger = (url: string, token: Redacted.Redacted, query: string, variables = '{"name": "world"}') =>
  `curl -X POST '${triggerUrl(url, Redacted.value(token))}${query}' -H 'Content-Type: application/json' -d '{"variables": ${variables}}'`

const embeddedParts = (drivers: Drivers.Drivers): ReadonlyArray<string> => {
  const parts = Drivers.embedded(drivers)
  return parts.length === 0
    ? []
    : [
        `This mode is for evaluation and for single-process use: ${parts.map(({ place }) => place).join(", and ")}.`,
        `For production, set ${parts.map(({ replacedBy }) => replacedBy).join(" and ")} (docs/run/deploy.md).`,
        ""
      ]
}

const demoTeam = (url: string, adminUrl: string, { token, webhook }: FirstWebhook): ReadonlyArray<string> =>
  Option.match(token, {
    onNone: () => [
      "The demo webhook's URL was shown when it was created. To get a new one, with the admin key in ADMIN_API_KEY:",
      "",
      `  ${ownCommand} webhook regenerate ${webhook.id} --yes --url ${adminUrl}`,
      ""
    ],
    onSome: (token) => [
      "The team demo is running and answers each prompt with the prompt itself. Trigger it:",
      "",
      `  ${trigger(url, token, "")}`,
      "",
      "The same, waiting for the answer:",
      "",
      `  ${trigger(url, token, "?wait=true")}`,
      "",
      "The token in these lines is shown only once; only its hash is stored.",
      ""
    ]
  })

const localTeam = (url: string, { leader, webhook }: LocalTeam): ReadonlyArray<string> => [
  `The team ${leader.team} is led by ${leader.title}, in this process.${Option.isSome(webhook) ? " Give it a task:" : ""}`,
  "",
  ...Option.match(
    Option.flatMap(webhook, ({ token }) => token),
    {
      onNone: () => [],
      onSome: (token) => [
        `  ${trigger(url, token, "?wait=true", '{"task": "Say hello."}')}`,
        "",
        "The token in this line is shown only once; only its hash is stored.",
        ""
      ]
    }
  )
]

const ownAgent = [
  "To use your own agent, start with a team and the command that answers its prompts:",
  "",
  `  ${ownCommand} serve --agent 'review=${presets.claude.example}'`,
  `  ${ownCommand} serve --leader 'review=my-agent --print'`,
  ""
]

/** For services on the internet, which do not reach this machine by itself. */
const tunnel = (url: string): ReadonlyArray<string> =>
  isLoopback(new URL(url).hostname)
    ? [
        "GitHub and other services do not reach this address. Open a tunnel, and start again with its address in PUBLIC_URL:",
        "",
        `  ${tunnels(url)[0].text}`,
        ""
      ]
    : []

const keyLine = (isGiven: boolean, generated: Option.Option<Redacted.Redacted>): string => {
  if (Option.isSome(generated)) return `${Redacted.value(generated.value)}   (shown only once; only its hash is stored)`
  return isGiven
    ? "the value of ADMIN_API_KEY"
    : "shown at an earlier start; if you lost it, restart with a key of your own in ADMIN_API_KEY"
}

/** The key is not sent with the request for the page, so no proxy logs it. */
const signInUrl = (adminUrl: string, key: Redacted.Redacted): string =>
  `${adminUrl}${pages.signIn}#${Redacted.value(key)}   (works once, for ${Duration.toMinutes(SignInLink.validFor)} minutes)`

/** The text on standard output after a start: addresses, admin key and a first example. */
export const text = (started: {
  readonly version: string
  /** For triggers. */
  readonly url: string
  /** For management, if it has its own address. */
  readonly adminUrl: Option.Option<string>
  readonly apiDocs: boolean
  readonly drivers: Drivers.Drivers
  readonly adminKey: { readonly isGiven: boolean; readonly generated: Option.Option<Redacted.Redacted> }
  /** The key of a link that signs in once. */
  readonly signInKey: Option.Option<Redacted.Redacted>
  readonly demo: Option.Option<FirstWebhook>
  readonly localTeams: ReadonlyArray<LocalTeam>
}): string => {
  const { adminKey, apiDocs, demo, drivers, localTeams, signInKey, url, version } = started
  const adminUrl = Option.getOrElse(started.adminUrl, () => url)
  return [
    `webhook-trigger ${version} is running.`,
    "",
    ...embeddedParts(drivers),
    `  Web UI and API   ${adminUrl}/`,
    ...Option.match(signInKey, {
      onNone: () => [],
      onSome: (key) => [`  Sign in          ${signInUrl(adminUrl, key)}`]
    }),
    ...(apiDocs ? [`  Guides           ${adminUrl}/docs/README.md`, `  API reference    ${adminUrl}/docs`] : []),
    ...(adminUrl === url ? [] : [`  Triggers         ${triggerUrl(url)}/`]),
    `  Admin key        ${keyLine(adminKey.isGiven, adminKey.generated)}`,
    "",
    ...Option.match(demo, { onNone: () => [], onSome: (demo) => demoTeam(url, adminUrl, demo) }),
    ...localTeams.flatMap((team) => localTeam(url, team)),
    ...(localTeams.length === 0 ? ownAgent : []),
    ...tunnel(url)
  ].join("\n")
}

/** The text as a line like those of the JSON log, for programs that read all output as JSON. */
export const json = (welcome: string): string => JSON.stringify({ message: welcome, logLevel: "INFO" })
