/** Checks the fields that people set. Lists every fault with its field. */
import { DateTime, Effect, identity, Option, Predicate, Result, Schema } from "effect"
import { type Fault, Invalid, maxFaults, type TeamUnknown } from "../../domain/Errors.ts"
import { tooComplex } from "../../domain/evaluation/JsonSchema.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import { faultsOfFilter } from "../../domain/prompt/FilterFaults.ts"
import { keyOf, pathOf } from "../../domain/prompt/Path.ts"
import * as Template from "../../domain/prompt/Template.ts"
import { attachmentExpressions, faultsOfAttachments } from "../../domain/run/Attachments.ts"
import { isStorable, unstorableDetail } from "../../domain/StorableText.ts"
import { TeamName } from "../../domain/Team.ts"
import { decode, tokenFaults } from "../../domain/Validation.ts"
import { Verification } from "../../domain/verification/Verification.ts"
import { nextTime } from "../../domain/webhook/Schedule.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { isAccepted, type JsonObject, type Singleton, type Window } from "../../domain/webhook/WebhookSettingKinds.ts"
import { webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { Origin } from "../access/Audit.ts"
import { Evaluator } from "../prompt/Evaluator.ts"
import * as Input from "../prompt/Input.ts"
import { type LanguageOptions, Renderer } from "../prompt/Renderer.ts"
import * as SharedUrls from "./SharedUrls.ts"

export const make = Effect.gen(function* () {
  const { evaluate } = yield* Evaluator
  const renderer = yield* Renderer
  const teams = yield* TeamStore
  const sharedUrls = yield* SharedUrls.make

  /** The template after a change of its text, its language or its input. */
  const templateAfter = (
    change: Fields,
    before: Webhook | undefined,
    field: TemplateField = "prompt_template",
    fields: ReadonlyArray<keyof Fields> = ["template_language", "input", "coalesce"]
  ) => {
    const { coalesce, input, template_language, [field]: value } = { ...before, ...change }
    const template = isSingleton(value) ? value.key : value
    const isChanged = [field, ...fields].some((field) => change[field] !== undefined)
    return isChanged && typeof template === "string"
      ? Option.some({
          ...{ template, takesPayload: Input.takesPayload({ input }), ...languageOf(template_language) },
          ...(isWindow(coalesce) && { coalesce })
        })
      : Option.none()
  }

  /** A template must not name a header that holds a secret. */
  const templateFaults = (field: TemplateField, change: Fields, before: Webhook | undefined) =>
    Option.match(templateAfter(change, before, field, ["template_language", "input", "verification", "coalesce"]), {
      onNone: () => Effect.succeed([]),
      onSome: ({ takesPayload, template, ...options }) =>
        renderer.placeholders(template, options).pipe(
          Effect.map((names) => {
            const { verification } = { ...before, ...change }
            const webhook = isVerification(verification) ? { verification } : {}
            return [
              ...(takesPayload ? names.flatMap((name) => Input.nameFaults(name, webhook)) : []),
              ...(field === "prompt_template" ? Combined.nameFaults(options, names) : [])
            ]
          }),
          Effect.catchTag("TemplateInvalid", ({ reason, line, column }) =>
            Effect.succeed([`line ${line}, column ${column}: ${reason}`])
          ),
          Effect.map((details) => details.map((detail): Fault => ({ pointer: `/${field}`, detail })))
        )
    })

  /** The faults of the filters for the webhook's input. */
  const filterFaults = Effect.fnUntraced(function* (change: Fields, before: Webhook | undefined) {
    const { coalesce, input, prompt_template, schema, template_language, verification } = {
      ...before,
      ...change
    }
    const all: Fields = { ...before, ...change }
    const isChanged = (field: keyof Fields) =>
      [field, "input", "verification"].some((name) => change[name as keyof Fields] !== undefined)
    const filters: ReadonlyArray<{ readonly field: string; readonly filter: string }> = [
      ...filterFields.flatMap((field) => {
        const filter = all[field]
        return isChanged(field) && typeof filter === "string" && isAccepted(webhookSettings[field], filter)
          ? [{ field, filter }]
          : []
      }),
      ...attachmentExpressions.flatMap((member) => {
        const filter = isChanged("attachments") && isSetting("attachments", all.attachments) && all.attachments[member]
        return typeof filter === "string" && filter !== "" ? [{ field: `attachments/${member}`, filter }] : []
      })
    ]
    if (filters.length === 0) return []
    const secretHeaders = Input.secretHeaders(isVerification(verification) ? { verification } : {})
    const names =
      typeof prompt_template === "string"
        ? yield* Effect.option(renderer.placeholders(prompt_template, languageOf(template_language)))
        : Option.none()
    const variables = Option.map(names, (names) => [
      ...names.flatMap((name) => [keyOf(name), pathOf(name)[0]]),
      ...(isWindow(coalesce) ? [keyOf(coalesce.key)] : []),
      ...(isSetting("schema", schema) && Predicate.isReadonlyObject(schema.properties)
        ? Object.keys(schema.properties)
        : [])
    ])
    const takes = Input.takesPayload({ input }) ? "requests" : { variables: Option.getOrUndefined(variables) }
    return filters.flatMap(({ field, filter }) =>
      faultsOfFilter(filter, { takes, secretHeaders }).map(
        (detail): Fault =>
          field.startsWith("attachments/")
            ? { pointer: "/attachments", detail: `at /${field.split("/")[1]}: ${detail}` }
            : { pointer: `/${field}`, detail }
      )
    )
  })

  /** Faults that no schema finds: in the template, a missing team, text that PostgreSQL cannot store. */
  const faultsBeyondSchema = Effect.fn("Webhooks.check")(function* (input: Fields, before: Webhook | undefined) {
    const faults: Array<Fault> = []
    for (const field of textFields) {
      const text = input[field]
      if (typeof text === "string" && !isStorable(text)) {
        faults.push({ pointer: `/${field}`, detail: unstorableDetail })
      }
    }
    for (const field of templateFields) faults.push(...(yield* templateFaults(field, input, before)))
    faults.push(...(yield* filterFaults(input, before)))
    const { cancel_if, singleton } = { ...before, ...input }
    if (cancel_if != null && singleton == null) {
      faults.push({ pointer: "/cancel_if", detail: "needs `singleton`: its key says which runs are cancelled" })
    }
    if (isSetting("attachments", input.attachments)) {
      faults.push(...faultsOfAttachments(input.attachments).map((detail) => ({ pointer: "/attachments", detail })))
    }
    const { attachments, coalesce } = { ...before, ...input }
    if (attachments != null && coalesce != null) {
      const detail = "cannot be combined with `coalesce`: a run of several requests has the files of none"
      faults.push({ pointer: "/attachments", detail })
    }
    const { schedule } = input
    if (typeof schedule === "string" && isAccepted(webhookSettings.schedule, schedule)) {
      const next = nextTime(schedule, yield* DateTime.now)
      if (Result.isFailure(next)) faults.push({ pointer: "/schedule", detail: next.failure })
    }
    faults.push(...(yield* sharedUrls.faults(input, before)))
    if (isWindow(input.coalesce)) {
      // For templates in any language.
      if (Result.isFailure(Template.parse(`{{${input.coalesce.key}}}`)))
        faults.push({ pointer: "/coalesce", detail: "`key` must be a name as in a template" })
    }
    for (const field of schemaFields) {
      const schema = input[field]
      if (!isSetting(field, schema)) continue
      const ofSchema = evaluate("schema", schema)
      const all = yield* Effect.catchTag(ofSchema, "TooSlow", () => Effect.succeed([tooComplex]))
      faults.push(...all.map(inSchema(field)))
    }
    if (isTeamName(input.team)) {
      const { teams: allowed } = yield* Origin
      // A team that the actor may not use looks like one that does not exist.
      if (allowed !== undefined && !allowed.includes(input.team)) faults.push(noSuchTeam)
      else yield* Effect.catchTag(teams.team(input.team), "NotFound", () => Effect.sync(() => faults.push(noSuchTeam)))
    }
    return faults
  })

  const checked = <A extends object>(
    decoded: Result.Result<A, ReadonlyArray<Fault>>,
    input: unknown,
    before?: Webhook
  ) =>
    Effect.gen(function* () {
      const more = yield* faultsBeyondSchema(input as Fields, before)
      const faults = [...Result.match(decoded, { onFailure: identity, onSuccess: shownTokens }), ...more]
      if (faults.length > 0) return yield* new Invalid({ faults: faults.slice(0, maxFaults) })
      return Result.getOrThrow(decoded)
    })

  /** The names in a template that was checked before. */
  const namesIn = (template: string, options: LanguageOptions & Pick<Webhook, "coalesce">) =>
    Effect.catchTag(renderer.placeholders(template, options), "TemplateInvalid", Effect.die).pipe(
      Effect.map((names) => Combined.namesOfRequest(options, names))
    )

  /** The template's names, if the change has a template. */
  const variablesOf = (change: Fields, before: Webhook | undefined) =>
    Option.match(templateAfter(change, before), {
      onNone: () => Effect.succeed({}),
      onSome: ({ template, ...options }) => Effect.map(namesIn(template, options), (variables) => ({ variables }))
    })

  return {
    draft: (input: unknown) => checked(decodeDraft(input), input),
    edit: (input: unknown, before: Webhook) => checked(decodeEdit(input), input, before),
    changesTemplate: (change: Fields, before: Webhook) =>
      templateFields.some((field) => Option.isSome(templateAfter(change, before, field))),
    namesIn,
    variablesOf
  }
})

type Fields = { readonly [field in keyof WebhookDraft]?: unknown }

const schemaFields = ["schema", "answer_schema"] as const
type SchemaField = (typeof schemaFields)[number]

/** Each is checked with the webhook's language, input and verification. */
const templateFields = ["prompt_template", "thread_key", "run_title", "workspace_ref", "singleton"] as const
type TemplateField = (typeof templateFields)[number]
/** Each is checked with the webhook's input and verification. */
const filterFields = ["accept_if", "cancel_if"] as const

const isVerification = Schema.is(Verification)

const languageOf = (language: unknown): LanguageOptions =>
  language === "simple" || language === "liquid" ? { template_language: language } : {}

/** All fields that may contain text. A team's name has stricter rules. */
const textFields = (Object.keys(WebhookDraft.fields) as ReadonlyArray<keyof Fields>).filter((field) => field !== "team")

/** The API and audit events show these fields. A signature over the URL uses the placeholder `{url}`. */
const shownTokens = tokenFaults(Webhook.fields, "in `signed`, write `{url}` instead of the URL")

/** A fault inside the schema becomes one of the field, so that a form can show it there. */
const inSchema =
  (field: SchemaField) =>
  ({ pointer, detail }: Fault): Fault => ({
    pointer: `/${field}`,
    detail: pointer === "" ? detail : `at ${pointer}: ${detail}`
  })

const decodeDraft = decode(WebhookDraft)
const decodeEdit = decode(WebhookEdit)
const isTeamName = Schema.is(TeamName)
const isSetting = (field: SchemaField | "attachments", value: unknown): value is JsonObject =>
  Predicate.isReadonlyObject(value) && isAccepted(webhookSettings[field], value)
const isWindow = (value: unknown): value is Window =>
  Predicate.isReadonlyObject(value) && isAccepted(webhookSettings.coalesce, value)
const isSingleton = (value: unknown): value is Singleton =>
  Predicate.isReadonlyObject(value) && isAccepted(webhookSettings.singleton, value)

const noSuchTeam: Fault = { pointer: "/team", detail: "does not exist" }
/** The team was deleted after the check. */
export const teamGone = (_: TeamUnknown) => new Invalid({ faults: [noSuchTeam] })
