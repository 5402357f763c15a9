/** Configuration as code. */
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs"
import { Effect, Option, type Scope } from "effect"
import { Argument, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import type { Created } from "../../api/Configuration.ts"
import { confirm, local, remote, yes } from "../Command.ts"
import { exitCodes, Failure, refused, usage } from "../Failure.ts"
import { fields, print, printError, printJson } from "../Output.ts"
import { jsonSchema } from "./ConfigFile.ts"
import { collect, type Document } from "./Document.ts"
import { alertsOr, destinationsOf, toConfig, toYaml } from "./Export.ts"
import { deletions, hasChanges, planJson, planText } from "./PlanText.ts"
import { files, invalid, readAll } from "./ReadFiles.ts"

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

interface Options {
  readonly prune: boolean
  readonly resetSecrets: boolean
  /** The version of the plan that was shown; absent: nothing is changed yet. */
  readonly version?: number
}

const wordOf = (isOn: boolean) => (isOn ? "true" : "false")

const edited = refused("The server was edited since the comparison", "nothing was changed; run the command again")

/** The server's plan, or what it did. Its faults are reported by file and line. */
const send = (client: Client, document: Document, { prune, resetSecrets, version }: Options) =>
  client.config
    .apply({
      query: { dry_run: wordOf(version === undefined), prune: wordOf(prune), reset_secrets: wordOf(resetSecrets) },
      headers: version === undefined ? {} : { "if-match": `"${version}"` },
      payload: document.configuration
    })
    .pipe(
      Effect.map((plan) => ({ ...plan, steps: plan.steps.map(document.noted) })),
      Effect.catchTags({
        UnprocessableContent: ({ errors = [] }) => invalid(errors.map(document.placed)),
        PreconditionFailed: () => edited
      })
    )

const read = (paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const document = yield* Effect.flatMap(readAll(paths), collect)
    return document.faults.length > 0 ? yield* invalid(document.faults) : document
  })

/** A new file for tokens, one JSON object on each line. Only its owner can read it. */
const tokensFile = (path: string): Effect.Effect<(created: Created) => void, Failure, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => openSync(path, "wx", 0o600),
      catch: (error) => usage(`--tokens-out: ${error instanceof Error ? error.message : String(error)}`)
    }),
    (file) => Effect.sync(() => closeSync(file))
  ).pipe(Effect.map((file) => (created) => void writeSync(file, `${JSON.stringify(created)}\n`)))

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
    const document = yield* read(options.files)
    const planned = yield* call((client) => send(client, document, options))
    yield* json ? printJson(planJson(planned)) : print(planText(planned))
    if (hasChanges(planned)) {
      return yield* new Failure({ exit: exitCodes.differs, title: "The server differs from the files" })
    }
  })
)

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
    const document = yield* read(options.files)
    if (document.unread.length > 0) return yield* invalid(document.unread.map(({ fault }) => fault))
    const planned = yield* call((client) => send(client, document, options))
    if (!json) yield* print(planText(planned))
    const deleted = deletions(planned)
    if (deleted !== undefined) yield* confirm(options.yes, `Delete ${deleted}, permanently?`)
    const keep = Option.isSome(options.tokensOut) ? yield* tokensFile(options.tokensOut.value) : undefined
    const { version } = planned
    const { created, not_deleted } = hasChanges(planned)
      ? yield* call((client) => send(client, document, { ...options, version }))
      : { created: [], not_deleted: [] }
    created.forEach((one) => keep?.(one))
    const shown = keep === undefined ? created : []
    if (json) yield* printJson({ ...planJson(planned), created: shown })
    else {
      if (shown.length > 0) {
        yield* print(["\nThese are shown only once:", ...shown.map((one) => `\n${fields(one)}`)].join("\n"))
      }
      if (hasChanges(planned)) yield* print("Applied.")
    }
    const left = not_deleted.map(({ detail, kind, name }) => ({ pointer: "", detail: `${kind} ${name}: ${detail}` }))
    if (left.length > 0) return yield* new Failure({ exit: exitCodes.refused, title: "Not deleted", faults: left })
  }, Effect.scoped)
)

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
