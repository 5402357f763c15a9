import { resolve } from "node:path"
import { Option, Redacted } from "effect"
import type { Demo } from "./Demo.ts"
import type { Environment } from "./Environment.ts"

const trigger = (url: string, token: string, query: string) =>
  `curl -X POST '${url}/webhook/trigger/${token}${query}' -H 'Content-Type: application/json' -d '{"variables": {"name": "world"}}'`

const embedded = ({ amqpUrl, databaseUrl, dataDir }: Environment): ReadonlyArray<string> => {
  const parts = [
    ...(Option.isNone(databaseUrl) ? [`the database is embedded, in the folder ${resolve(dataDir)}`] : []),
    ...(Option.isNone(amqpUrl) ? ["the message bus is in this process's memory"] : [])
  ]
  const missing = [
    ...(Option.isNone(databaseUrl) ? ["DATABASE_URL"] : []),
    ...(Option.isNone(amqpUrl) ? ["AMQP_URL"] : [])
  ]
  return parts.length === 0
    ? []
    : [
        `This mode is for trying out and for single-process use: ${parts.join(", and ")}.`,
        `For production set ${missing.join(" and ")}: docs/production.md.`,
        ""
      ]
}

const demoTeam = (url: string, { token, webhook }: Demo): ReadonlyArray<string> =>
  Option.match(token, {
    onNone: () => [
      "The demo webhook's URL was shown when it was made. For a new one, with the admin key in ADMIN_API_KEY:",
      "",
      `  npx webhook-trigger webhook regenerate ${webhook.id} --yes --url ${url}`,
      ""
    ],
    onSome: (token) => [
      "A team called demo is running; it answers with the prompt it gets. Trigger it:",
      "",
      `  ${trigger(url, Redacted.value(token), "")}`,
      "",
      "and once more, waiting for the answer:",
      "",
      `  ${trigger(url, Redacted.value(token), "?wait=true")}`,
      "",
      "The token in these lines is shown only now; only its hash is kept.",
      ""
    ]
  })

/** What a start says on standard output: where the server is, how to get in, and what to try. */
export const text = (started: {
  readonly version: string
  readonly url: string
  readonly environment: Environment
  readonly generatedKey: Option.Option<Redacted.Redacted>
  readonly demo: Option.Option<Demo>
}): string => {
  const { demo, environment, generatedKey, url, version } = started
  const key = Option.match(generatedKey, {
    onSome: (key) => `${Redacted.value(key)}   (shown only now; only its hash is kept)`,
    onNone: () =>
      Option.isSome(environment.adminKey)
        ? "as given in ADMIN_API_KEY"
        : "as shown at the first start; lost: start with another in ADMIN_API_KEY"
  })
  return [
    `webhook-trigger ${version} is running.`,
    "",
    ...embedded(environment),
    `  Web UI and API   ${url}/`,
    `  API reference    ${url}/docs`,
    `  Admin key        ${key}`,
    "",
    ...Option.match(demo, { onNone: () => [], onSome: (demo) => demoTeam(url, demo) })
  ].join("\n")
}
