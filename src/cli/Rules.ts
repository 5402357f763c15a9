/** How the command line has the fields of the API that are not simply flags of the same names. */
import { Effect, Result } from "effect"
import { pageSize } from "../api/PageSize.ts"
import * as Json from "../domain/Json.ts"
import type { Variables } from "../domain/run/Run.ts"
import { teamNameAccepts, teamNamePattern } from "../domain/TeamName.ts"
import { presetNames } from "../domain/verification/Presets.ts"
import { accepts, isAccepted, type Value, valueOf, type WebhookSetting } from "../domain/webhook/WebhookSettingKinds.ts"
import { webhookSettings } from "../domain/webhook/WebhookSettings.ts"
import type { Field } from "./Endpoint.ts"
import { readText, withoutLastBreak } from "./Files.ts"
import { fieldRule, flag, type Given, type Rule, type Rules, switches, type Word } from "./Input.ts"
import { findIn, findRun, findWebhook, noRun, noWebhook } from "./References.ts"

const quoted = JSON.stringify

/** An object in the path. */
const object =
  (name: string, about: string, missing: Rule["missing"] & {}, more: Partial<Rule> = {}) =>
  (field: Field): Rule => ({
    ...fieldRule(field, { name, about, isArgument: true }),
    ...more,
    missing
  })

const refined = (rule: Rule, isRight: (value: unknown) => boolean, says: string): Rule => ({
  ...rule,
  read: (given) =>
    Effect.filterOrFail(
      rule.read(given),
      (value) => value === undefined || isRight(value),
      () => (rule.isArgument ? `<${Object.keys(rule.flags)[0]}> ${says}` : `--${Object.keys(rule.flags)[0]} ${says}`)
    )
})
const matching = (rule: Rule, pattern: RegExp, says: string) =>
  refined(rule, (text) => pattern.test(String(text)), says)

const noTeam = (team: string) => `No team is called ${quoted(team)}; see webhook-trigger team list`

/** The argument `<webhook>`, of any field. */
export const webhookArgument = object("webhook", "The webhook's id, or its name", noWebhook, { find: findWebhook })
export const teamArgument = (field: Field): Rule =>
  matching(
    object("team", "The team's name: lower-case letters, digits and hyphens", noTeam)(field),
    teamNamePattern,
    teamNameAccepts
  )
const runArgument = object("run-id", "The run's ID, the beginning or end of one, or `last` for the newest run", noRun, {
  find: (connection, text) => Effect.map(findRun(connection, text), (id) => ({ id }))
})

export const noVersion = (version: string) =>
  `The webhook has no version ${version}, or its template is no longer stored; see webhook-trigger webhook versions`

const ofOwner =
  (what: string) =>
  (id: string, { webhook }: Readonly<Record<string, string>>) =>
    webhook === undefined ? `No ${what} of alerts has the id ${quoted(id)}` : `The webhook has no ${what} ${quoted(id)}`

const newest = { limit: pageSize.maximum }
const findDestination = findIn(({ alertDestinations, destinations }, params) =>
  params.id === undefined ? alertDestinations.list({ params: {} }) : destinations.list({ params })
)

const paths: Rules = {
  "webhooks/:id": webhookArgument,
  "teams/:team": teamArgument,
  "runs/:run_id": runArgument,
  "threads/:thread_id": object(
    "thread-id",
    "The thread's id, as `thread list` and `run show --json` show it",
    (id) => `No thread has the id ${quoted(id)}; see webhook-trigger thread list`
  ),
  "rules/:rule_id": object(
    "rule-id",
    "The rule's id, as `alert rule list` shows it",
    (id) => `No alert rule has the id ${quoted(id)}; see webhook-trigger alert rule list`,
    { find: findIn(({ alerts }) => alerts.rules()) }
  ),
  "destinations/:destination_id": object(
    "destination-id",
    "The destination's id, as `list` shows it",
    ofOwner("destination"),
    { find: findDestination }
  ),
  "deliveries/:delivery_id": object("delivery-id", "The delivery's id, as `deliveries` shows it", ofOwner("delivery"), {
    find: findIn(({ alertDestinations, destinations }, params) =>
      params.id === undefined
        ? alertDestinations.deliveries({ params: {}, query: newest })
        : destinations.deliveries({ params, query: newest })
    )
  }),
  "keys/:id": object(
    "key-id",
    "The key's id, as `key list` shows it",
    (id) => `No valid API key has the id ${quoted(id)}; see webhook-trigger key list`,
    { find: findIn(({ apiKeys }) => apiKeys.list()) }
  ),
  "leader-keys/:id": object(
    "key-id",
    "The key's id, as `team leader-key list` shows it",
    (id, { team }) => `The team ${team} has no key with the id ${quoted(id)}; see webhook-trigger team leader-key list`,
    { find: findIn(({ leaderKeys }, params) => leaderKeys.list({ params })) }
  ),
  "sessions/:id": object(
    "session-id",
    "The session's id, as `session list` shows it",
    (id) => `No session has the id ${quoted(id)}; see webhook-trigger session list`,
    { find: findIn(({ sessions }) => sessions.list()) }
  ),
  "templates/:version": (field) =>
    matching(
      object("version", "A version from webhook versions or run show", noVersion)(field),
      /^[1-9]\d{0,8}$/,
      "must be a whole number from 1 to 999999999"
    )
}

const seconds = (name: string, about: string) => (): Rule =>
  flag(
    name,
    { value: "seconds", about },
    ([text]) => (/^\d+(\.\d+)?$/.test(text) ? String(Math.round(Number(text) * 1000)) : text),
    { accepts: "must be a number of seconds" }
  )

/** The text of a file. */
const file = (name: string, about: string, trim: (text: string) => string = (text) => text): Rule => ({
  flags: { [name]: { kind: "file", value: "file", about } },
  read: (given) => fileText(given, name, trim)
})

const fileText = (given: Given, name: string, trim: (text: string) => string = (text) => text) => {
  const [path] = given(name)
  return path === undefined
    ? Effect.undefined
    : Effect.mapBoth(readText(path), { onSuccess: trim, onFailure: (detail) => `--${name}: ${detail}` })
}

/** Splits `name=value`. */
export const split = (flag: string, text: string): Result.Result<readonly [name: string, value: string], string> => {
  const at = text.indexOf("=")
  return at < 1
    ? Result.fail(`${flag} takes name=value, not ${quoted(text)}`)
    : Result.succeed([text.slice(0, at), text.slice(at + 1)])
}

/** `@file` is the text of a file, `@-` of standard input. `@@` stands for `@` at the beginning of a text. */
const textOf = (flag: string, value: string) => {
  if (!value.startsWith("@")) return Effect.succeed(value)
  if (value.startsWith("@@")) return Effect.succeed(value.slice(1))
  return Effect.mapError(
    readText(value.slice(1)),
    (detail) => `${flag}: ${detail}; for a text that begins with @, write @@`
  )
}

/** `--var name=text` and `--json-var name=json`. */
export const variables = {
  flags: {
    var: {
      value: "name=text|@file",
      about: "A variable with this text, or the text of a file; may be repeated",
      repeats: true
    },
    "json-var": {
      value: "name=json|@file",
      about: "A variable with this JSON value, or that of a file; may be repeated",
      repeats: true
    }
  } satisfies Record<string, Word>,
  read: Effect.fnUntraced(function* (given: Given) {
    const pairs = new Map<string, unknown>()
    for (const kind of ["var", "json-var"]) {
      for (const assignment of given(kind)) {
        const [name, value] = yield* Effect.fromResult(split(`--${kind}`, assignment))
        if (pairs.has(name)) return yield* Effect.fail(`the variable ${name} is given twice`)
        const text = yield* textOf(`--${kind} ${name}`, value)
        const parsed =
          kind === "var"
            ? text
            : yield* Effect.try({
                try: () => Json.parse(text),
                catch: () => `--json-var ${name} is not JSON: ${quoted(value)}`
              })
        pairs.set(name, parsed)
      }
    }
    return pairs.size === 0 ? undefined : (Object.fromEntries(pairs) as Variables)
  })
}

/** `default` gives a setting back to its default. */
const setting = (setting: WebhookSetting) => (): Rule => {
  const help = setting.written === undefined ? setting.help : `${setting.help}; ${setting.written}`
  const word = { value: setting.value, about: `${help}; \`default\` is ${setting.default}` }
  const says = `${accepts(setting)}, or \`default\``
  const rule = flag(setting.option, word, ([text]) => (text === "default" ? null : valueOf(setting, text)), {
    accepts: says,
    ...(setting.kind === "webhook" && { find: findWebhook })
  })
  return refined(rule, (value) => value === null || isAccepted(setting, value as Value), says)
}

const verification = (): Rule => ({
  flags: {
    verification: {
      value: "preset",
      about: `The service whose signature or secret is checked: ${presetNames.join(", ")}; \`none\`: token only`
    },
    "verification-option": {
      value: "name=value",
      about: "An option of the preset, such as header=X-Signature; may be repeated",
      repeats: true
    }
  },
  labelOf: ([option]) =>
    option === undefined || option === "preset" ? "--verification" : `--verification-option ${option}`,
  read: Effect.fnUntraced(function* (given) {
    const [preset] = given("verification")
    const options = given("verification-option")
    if (preset === undefined) {
      return yield* options.length > 0 ? Effect.fail("--verification-option requires --verification") : Effect.undefined
    }
    const pairs = yield* Effect.forEach(options, (option) => Effect.fromResult(split("--verification-option", option)))
    const valueOf = ([name, text]: readonly [string, string]) => [
      name,
      name.endsWith("_seconds") && /^\d+$/.test(text) ? Number(text) : text
    ]
    return preset === "none" ? null : { preset, ...Object.fromEntries(pairs.map(valueOf)) }
  })
})

const headers = (_: Field, { isEdit }: { readonly isEdit: boolean }): Rule => {
  const rule: Rule = {
    flags: {
      header: { value: "'Name: value'", about: "A header to send, stored encrypted; repeatable", repeats: true }
    },
    read: (given) => {
      const all = given("header").map((text) => /^(?<name>[^:\s]+):\s*(?<value>.*)$/.exec(text)?.groups)
      if (all.length === 0) return Effect.undefined
      return all.includes(undefined)
        ? Effect.fail("--header takes a name and a value, such as 'Authorization: Bearer x'")
        : Effect.succeed(Object.fromEntries(all.map((header) => [header!.name!, header!.value!])))
    }
  }
  return isEdit ? switches({ "no-headers": [{}, "Remove all headers"] }, rule) : rule
}

const fields: Rules = {
  "if-match": false,
  dry_run: false,
  run_ids: false,
  enabled: false,
  paused: false,
  "idempotency-key": () =>
    flag("key", {
      value: "key",
      about: "An idempotency key: within 24 hours, commands with the same key have an effect only once"
    }),
  wait: (field) => fieldRule(field, { about: "Wait for the answer and print it" }),
  cursor: (field) => fieldRule(field, { about: "The previous page's `next_cursor`" }),
  limit: (field) =>
    fieldRule(field, {
      ...{ value: "count", about: `Entries per page; default: ${pageSize.default}` },
      accepts: `must be a whole number from ${pageSize.minimum} to ${pageSize.maximum}`
    }),
  team: (field) => fieldRule(field, { value: "name" }),
  thread_id: (field) => fieldRule(field, { name: "thread", value: "id", accepts: "must be a thread's id" }),
  webhook_id: (field) => ({
    ...fieldRule(field, { name: "webhook", value: "webhook" }),
    ...{ find: findWebhook, missing: noWebhook }
  }),
  destination_id: (field) => ({ ...fieldRule(field, { name: "destination", value: "id" }), find: findDestination }),
  min_duration_ms: seconds("min-duration", "Only runs with at least this duration"),
  max_duration_ms: seconds("max-duration", "Only runs with at most this duration"),
  overlap_seconds: (field) =>
    fieldRule(field, {
      name: "overlap",
      value: "seconds",
      about: "How long the one before stays valid, up to 30 days"
    }),
  message: (field) => fieldRule(field, { name: "text", isArgument: true, about: "The message to the agent" }),
  prompt: () => switches({ "same-prompt": ["same", "Send the same prompt instead of rendering the current template"] }),
  variables: () => variables,
  // Fields of destinations. `--url` is the server's address.
  url: (field) => fieldRule(field, { name: "to", value: "url" }),
  token: () =>
    file("token-file", "A file with the token of slack-message, github or gitlab, stored encrypted", (text) =>
      text.trim()
    ),
  template: () => file("template-file", "A file with the Liquid template, over event, run, webhook and values"),
  headers,
  // Fields of alert rules.
  condition: (field) => fieldRule(field, { isArgument: true, about: "What is measured, such as failures_in_a_row" }),
  window_hours: (field) => fieldRule(field, { name: "hours" }),
  destination_ids: (field, { isEdit }) => {
    const rule = { ...fieldRule(field, { name: "destinations", value: "ids" }), find: findDestination }
    return isEdit
      ? switches({ "all-destinations": [null, "Send its alerts to all alert destinations again"] }, rule)
      : rule
  },
  // Fields of keys.
  webhooks: () =>
    flag(
      "webhook",
      {
        value: "webhook",
        about: "Limit the key to this webhook, by ID or name; only for the role caller; repeatable",
        repeats: true
      },
      (refs) => refs,
      { find: findWebhook, missing: noWebhook }
    ),
  expires_at: (field) => fieldRule(field, { name: "expires" }),
  // Fields of webhooks.
  ...Object.fromEntries(Object.entries(webhookSettings).map(([name, each]) => [name, setting(each)])),
  prompt_template: () => ({
    flags: {
      template: { value: "text", about: "The prompt, with placeholders: 'Review {{branch}}'" },
      "template-file": {
        kind: "file",
        value: "file",
        about: "A file with the prompt; `-` reads it from standard input"
      }
    },
    isEither: true,
    accepts: "--template and --template-file must have 1 to 65,536 characters",
    read: (given) => Effect.map(fileText(given, "template-file"), (text) => given("template")[0] ?? text)
  }),
  verification,
  secret: () =>
    file(
      "secret-file",
      "A file with the secret for the verification; `-` reads it from standard input",
      withoutLastBreak
    ),
  keep_old_secret: () =>
    switches({
      "keep-old-secret": [true, "With --secret-file: also accept the old secret, until --end-old-secret"],
      "end-old-secret": [false, "Stop accepting the old secret"]
    })
}

export const rules: Rules = { ...paths, ...fields }
