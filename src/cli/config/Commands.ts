/** Configuration as code. */
import { writeFileSync } from "node:fs"
import { Effect, Option } from "effect"
import { Argument, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { confirm, local, remote, yes } from "../Command.ts"
import { exitCodes, Failure, refused } from "../Failure.ts"
import { fields, print, printError, printJson } from "../Output.ts"
import { apply, type Keep, type NewSecret, tokensFile } from "./Apply.ts"
import { check } from "./Check.ts"
import { jsonSchema } from "./ConfigFile.ts"
import { toConfig, toYaml } from "./Export.ts"
import { plan } from "./Plan.ts"
import { deletions, hasChanges, planJson, planText } from "./PlanText.ts"
import { files, invalid, readAll } from "./ReadFiles.ts"
import { alertsOr, destinationsOf } from "./State.ts"
import type { PlanOptions } from "./Steps.ts"
import { type Configuration, collect } from "./Wanted.ts"

const prune = Flag.Boolean("prune").pipe(
  Flag.withoutNegation,
  Flag.withDefault(false),
  Flag.withDescription("Also delete what the lists in the files do not contain, such as webhooks with all their runs")
)
const resetSecrets = Flag.Boolean("reset-secrets").pipe(
  Flag.withoutNegation,
  Flag.withDefault(false),
  Flag.withDescription("Set all secrets again, even those whose last characters are the same")
)
const tokensOut = Flag.String("tokens-out").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("A new file for new tokens and signing secrets, which only you can read; default: print them"),
  Flag.optional
)

const noAlerts = (detail: string) => refused("This key cannot manage alert_destinations and alert_rules", detail)

/** Reads the server only after the files, which may be invalid. */
const compare = (client: Client, configuration: Configuration, options: PlanOptions) =>
  Effect.gen(function* () {
    const { data: teams } = yield* client.teams.list()
    const { data: webhooks } = yield* client.webhooks.list()
    const isNamed = ({ id, name }: Webhook) =>
      configuration.webhooks?.some((wanted) => wanted.destinations && (wanted.id === id || wanted.name === name))
    const destinations = yield* destinationsOf(client, webhooks.filter(isNamed))
    const hasAlerts = configuration.alertDestinations !== undefined || configuration.alertRules !== undefined
    const alerts = hasAlerts ? yield* alertsOr(client, noAlerts) : undefined
    const state = { teams, webhooks, destinations, alerts }
    const planned = yield* Effect.fromResult(plan(configuration, state, options)).pipe(Effect.mapError(invalid))
    yield* check(client, planned)
    return planned
  })

const read = (paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const configuration = yield* Effect.flatMap(readAll(paths), collect)
    return configuration.faults.length > 0 ? yield* invalid(configuration.faults) : configuration
  })

const diff = remote(
  "diff",
  {
    about: "Compare a server with configuration files; exits with 6 if they differ",
    details:
      "Prints what `apply` would change, and changes nothing. A secret that cannot be read here is not compared.",
    examples: ["webhook-trigger diff -f webhooks.yaml", "webhook-trigger diff -f config/ --prune"]
  },
  { files, prune, resetSecrets },
  Effect.fnUntraced(function* (options, { call, json }) {
    const configuration = yield* read(options.files)
    const planned = yield* call((client) => compare(client, configuration, options))
    yield* json ? printJson(planJson(planned)) : print(planText(planned))
    if (hasChanges(planned)) {
      return yield* new Failure({ exit: exitCodes.differs, title: "The server differs from the files" })
    }
  })
)

const secretText = (secret: NewSecret): string => `\n${fields(secret)}`

const applyFiles = remote(
  "apply",
  {
    about: "Create and change webhooks, teams, destinations and alert rules from configuration files",
    details:
      "Checks all files first and changes nothing if one is invalid. Applying them again changes nothing. What the files do not have is left alone, except with --prune.",
    examples: [
      "webhook-trigger apply -f webhooks.yaml --tokens-out tokens.jsonl",
      "webhook-trigger apply -f config/ --prune --yes",
      "webhook-trigger export | webhook-trigger apply -f -"
    ]
  },
  { files, prune, resetSecrets, tokensOut, yes },
  Effect.fnUntraced(function* (options, { call, json }) {
    const configuration = yield* read(options.files)
    if (configuration.unread.length > 0) return yield* invalid(configuration.unread)
    const planned = yield* call((client) => compare(client, configuration, options))
    if (!json) yield* print(planText(planned))
    const deleted = deletions(planned)
    if (deleted !== undefined) yield* confirm(options.yes, `Delete ${deleted}, permanently?`)
    const secrets: Array<NewSecret> = []
    const remember: Keep = (secret) => Effect.sync(() => void secrets.push(secret))
    const keep = Option.isSome(options.tokensOut) ? yield* tokensFile(options.tokensOut.value) : remember
    // What was created before a failure is shown, too.
    const created = Effect.suspend(() => showSecrets(json, secrets))
    yield* Effect.onError(
      call((client) => apply(client, planned, keep)),
      () => created
    )
    if (json) return yield* printJson({ ...planJson(planned), created: secrets })
    yield* created
    if (hasChanges(planned)) yield* print("Applied.")
  }, Effect.scoped)
)

const showSecrets = (json: boolean, secrets: ReadonlyArray<NewSecret>): Effect.Effect<void> => {
  if (secrets.length === 0) return Effect.void
  return json
    ? printJson({ created: secrets })
    : print(["\nThese are shown only once:", ...secrets.map(secretText)].join("\n"))
}

const withoutAlerts = (detail: string) =>
  Effect.as(printError(`alert_destinations and alert_rules were not exported: ${detail}`), undefined)

const output = Flag.String("output").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("Write to this file; default: standard output"),
  Flag.optional
)
const named = Argument.String("webhook").pipe(
  Argument.withDescription("Only these webhooks and their teams, by ID or name; default: all, including alert rules"),
  Argument.variadic()
)

const exportAll = remote(
  "export",
  {
    about: "Print webhooks, teams, destinations and alert rules as a configuration file, without secrets",
    examples: ["webhook-trigger export > webhooks.yaml", "webhook-trigger export review --output review.yaml"]
  },
  { named, output },
  Effect.fnUntraced(function* ({ named, output }, { call, json }) {
    const text = yield* call((client) =>
      Effect.gen(function* () {
        const { data: teams } = yield* client.teams.list()
        const { data: webhooks } = yield* client.webhooks.list()
        const unknown = named.filter((ref) => !webhooks.some(({ id, name }) => id === ref || name === ref))
        if (unknown.length > 0) {
          return yield* refused(`No webhook has the id or name ${unknown.map((ref) => JSON.stringify(ref)).join(", ")}`)
        }
        const isWhole = named.length === 0
        const chosen = isWhole
          ? webhooks
          : webhooks.filter(({ id, name }) => named.includes(id) || named.includes(name))
        const alerts = isWhole ? yield* alertsOr(client, withoutAlerts) : undefined
        const state = { teams, webhooks, destinations: yield* destinationsOf(client, chosen), alerts }
        return json ? `${JSON.stringify(toConfig(state, chosen), null, 2)}\n` : yield* toYaml(state, chosen)
      })
    )
    if (Option.isNone(output)) return yield* print(text.trimEnd())
    yield* Effect.try({
      try: () => writeFileSync(output.value, text),
      catch: (cause) => refused("Cannot write the output", String(cause))
    })
    yield* printError(`Written to ${output.value}.`)
  })
)

const schema = local(
  "schema",
  {
    about: "Print the JSON Schema of configuration files, for editors",
    details:
      "Editors with the YAML language server complete and check a file with this first line: # yaml-language-server: $schema=webhooks.schema.json",
    examples: ["webhook-trigger schema > webhooks.schema.json"]
  },
  {},
  () => printJson(jsonSchema())
)

export const configCommands = [diff, applyFiles, exportAll, schema] as const
