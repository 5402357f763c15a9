import { Context, DateTime, Duration, Effect, Either, Layer, Option, Predicate, Schema } from "effect"
import { identity } from "effect/Function"
import {
  ChangedMeanwhile,
  type Fault,
  type FilterFailed,
  Invalid,
  type InvalidParameter,
  type InvalidVariables,
  maxFaults,
  NotFound,
  type PromptTooLarge,
  type SchemaMismatch,
  type TeamUnknown,
  type TemplateFailed,
  type Unavailable
} from "../../domain/Errors.ts"
import { makeWebhookId, type WebhookId } from "../../domain/Id.ts"
import { webhookIdOf } from "../../domain/ParsedId.ts"
import { faultOfExpression } from "../../domain/prompt/Filter.ts"
import * as Template from "../../domain/prompt/Template.ts"
import { templateOf } from "../../domain/prompt/TemplateChanges.ts"
import type { TemplateVersion, TemplateVersionSummary } from "../../domain/prompt/TemplateVersion.ts"
import { containsToken } from "../../domain/request/WithoutToken.ts"
import { isStorable, unstorableDetail } from "../../domain/StorableText.ts"
import { TeamName } from "../../domain/Team.ts"
import { Verification } from "../../domain/verification/Verification.ts"
import { warningsOf } from "../../domain/webhook/Warnings.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { isAccepted, type JsonObject, type Window } from "../../domain/webhook/WebhookSettingKinds.ts"
import { webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { HistoryStore } from "../../repo/HistoryStore.ts"
import type { RunPage, RunQuery } from "../../repo/RunQuery.ts"
import type { SecretKeyStore } from "../../repo/SecretKeyStore.ts"
import { TeamStore } from "../../repo/TeamStore.ts"
import { noOldToken, WebhookStore } from "../../repo/WebhookStore.ts"
import * as Audit from "../access/Audit.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import * as DraftPreview from "../prompt/DraftPreview.ts"
import * as Input from "../prompt/Input.ts"
import { InputChecks } from "../prompt/InputChecks.ts"
import { faultsOfSchema } from "../prompt/InputSchema.ts"
import { type LanguageOptions, Renderer } from "../prompt/Renderer.ts"
import * as Rendering from "../prompt/Rendering.ts"
import type { Settings } from "../Settings.ts"
import { hashToken, makeToken, type Token, tokenHint } from "../verify/Token.ts"
import * as WebhookSecrets from "../verify/WebhookSecrets.ts"
import { decode } from "./Validation.ts"

/** The webhook with its token: the only time it is shown. */
export interface WithToken {
  readonly webhook: Webhook
  readonly token: Token
}

export interface Preview {
  /** Whether `accept_if` holds; absent for a webhook without one. */
  readonly accepted?: boolean
  /** Absent while names are missing. */
  readonly prompt?: string
  readonly missing: ReadonlyArray<string>
}

/** What prompts are made with. */
type Prompts = InputChecks | Renderer | Settings

/** What webhooks are stored with. */
type WebhookRows = SecretKeyStore | WebhookStore

/** Managing webhooks. Ids come as a caller wrote them: what cannot be an id is `NotFound`. */
export class Webhooks extends Context.Tag("webhook-trigger/Webhooks")<
  Webhooks,
  {
    readonly list: Effect.Effect<ReadonlyArray<Webhook>, Unavailable>
    readonly show: (id: string) => Effect.Effect<Webhook, NotFound | Unavailable>
    /** From a draft as it came, with every fault listed. */
    readonly create: (draft: unknown) => Effect.Effect<WithToken, Invalid | Unavailable>
    /** Another one with the same settings and secret and a token of its own, but for the fields given, as in an edit. */
    readonly duplicate: (id: string, edit: unknown) => Effect.Effect<WithToken, NotFound | Invalid | Unavailable>
    /** Holds for the next trigger. With `versions`, only while the webhook has one of these. */
    readonly edit: (
      id: string,
      edit: unknown,
      versions?: ReadonlyArray<number>
    ) => Effect.Effect<Webhook, ChangedMeanwhile | NotFound | Invalid | Unavailable>
    /** Who set its templates, and when, newest first. */
    readonly templates: (id: string) => Effect.Effect<ReadonlyArray<TemplateVersionSummary>, NotFound | Unavailable>
    /** The template that it had in a version, which comes as a caller wrote it. */
    readonly template: (id: string, version: string) => Effect.Effect<TemplateVersion, NotFound | Unavailable>
    /** Edits it to have the template again that it had in that version; `Invalid`: it does not fit what fills it in now. */
    readonly restoreTemplate: (
      id: string,
      version: string,
      versions?: ReadonlyArray<number>
    ) => Effect.Effect<Webhook, ChangedMeanwhile | NotFound | Invalid | Unavailable>
    /** The old token is invalid immediately, or stays valid for `overlap`; one before that is invalid in any case. */
    readonly regenerate: (
      id: string,
      options?: { readonly overlap?: Duration.Duration }
    ) => Effect.Effect<WithToken, NotFound | Unavailable>
    /** An old token that is still valid is invalid from now on. */
    readonly endOldToken: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** With its runs; callers that wait for one of them are answered that it is gone. */
    readonly remove: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** The prompt that this input would make; runs nothing. */
    readonly preview: (
      id: string,
      sample: Input.Sample
    ) => Effect.Effect<
      Preview,
      | FilterFailed
      | Invalid
      | InvalidVariables
      | NotFound
      | SchemaMismatch
      | PromptTooLarge
      | TemplateFailed
      | Unavailable
    >
    /** What the renderer says of a template that is not saved. */
    readonly previewDraft: DraftPreview.PreviewDraft
    readonly runs: (
      id: string,
      query: Omit<RunQuery, "webhook_id">
    ) => Effect.Effect<RunPage, NotFound | InvalidParameter | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Webhooks, never, HistoryStore | Outcomes | Prompts | TeamStore | WebhookRows> =
    Layer.effect(
      Webhooks,
      Effect.gen(function* () {
        const outcomes = yield* Outcomes
        const renderer = yield* Renderer
        const render = yield* Rendering.make
        const previewDraft = yield* DraftPreview.make
        const history = yield* HistoryStore
        const teams = yield* TeamStore
        const store = yield* WebhookStore
        const secrets = yield* WebhookSecrets.make

        /** The template as it will be, when the change has a part of it: its text, its language, or what fills it in. */
        const templateAfter = (
          change: Fields,
          before: Webhook | undefined,
          fields: ReadonlyArray<(typeof checkedTogether)[number]> = templateFields
        ) => {
          const { input, prompt_template, template_language } = { ...before, ...change }
          const isChanged = fields.some((field) => change[field] !== undefined)
          return isChanged && typeof prompt_template === "string"
            ? Option.some({
                prompt_template,
                takesPayload: Input.takesPayload({ input }),
                ...languageOf(template_language)
              })
            : Option.none()
        }

        const templateFaults = (change: Fields, before: Webhook | undefined) =>
          Option.match(templateAfter(change, before, checkedTogether), {
            onNone: () => Effect.succeed([]),
            onSome: ({ prompt_template, takesPayload, ...options }) =>
              renderer.placeholders(prompt_template, options).pipe(
                Effect.map((names) => {
                  const { verification } = { ...before, ...change }
                  const webhook = isVerification(verification) ? { verification } : {}
                  return takesPayload ? names.flatMap((name) => Input.nameFaults(name, webhook)) : []
                }),
                Effect.catchTag("TemplateInvalid", ({ reason, line, column }) =>
                  Effect.succeed([`line ${line}, column ${column}: ${reason}`])
                ),
                Effect.map((details) => details.map((detail): Fault => ({ pointer: "/prompt_template", detail })))
              )
          })

        /** What a schema cannot know: the template's braces, the team's existence, what PostgreSQL cannot store. */
        const faultsBeyondSchema = Effect.fn("Webhooks.check")(function* (input: Fields, before: Webhook | undefined) {
          const faults: Array<Fault> = []
          for (const field of textFields) {
            const text = input[field]
            if (typeof text === "string" && !isStorable(text)) {
              faults.push({ pointer: `/${field}`, detail: unstorableDetail })
            }
          }
          faults.push(...(yield* templateFaults(input, before)))
          if (typeof input.accept_if === "string" && isAccepted(webhookSettings.accept_if, input.accept_if)) {
            const detail = faultOfExpression(input.accept_if)
            if (detail !== undefined) faults.push({ pointer: "/accept_if", detail })
          }
          if (isWindow(input.coalesce)) {
            // Whatever the templates' grammar is.
            if (Either.isLeft(Template.parse(`{{${input.coalesce.key}}}`)))
              faults.push({ pointer: "/coalesce", detail: "`key` must be a name as in a template" })
          }
          if (isSchema(input.schema)) faults.push(...(yield* faultsOfSchema(input.schema)).map(inSchema))
          if (isTeamName(input.team)) {
            yield* Effect.catchTag(teams.team(input.team), "NotFound", () => Effect.sync(() => faults.push(noSuchTeam)))
          }
          return faults
        })

        const checked = <A extends object>(
          decoded: Either.Either<A, ReadonlyArray<Fault>>,
          input: unknown,
          before?: Webhook
        ) =>
          Effect.gen(function* () {
            const more = yield* faultsBeyondSchema(input as Fields, before)
            const faults = [...Either.match(decoded, { onLeft: identity, onRight: tokenFaults }), ...more]
            if (faults.length > 0) return yield* new Invalid({ faults: faults.slice(0, maxFaults) })
            return Either.getOrThrow(decoded)
          })

        /** The names in a template that has been checked before. */
        const namesIn = (template: string, options: LanguageOptions) =>
          Effect.catchTag(renderer.placeholders(template, options), "TemplateInvalid", Effect.die)

        /** The template's names, when it is changed. */
        const variablesOf = (change: Fields, before: Webhook | undefined) =>
          Option.match(templateAfter(change, before), {
            onNone: () => Effect.succeed({}),
            onSome: ({ prompt_template, ...options }) =>
              Effect.map(namesIn(prompt_template, options), (variables) => ({ variables }))
          })

        const inputChecks = yield* InputChecks

        const found = <A, E>(id: string, use: (id: WebhookId) => Effect.Effect<A, E>): Effect.Effect<A, E | NotFound> =>
          Effect.flatMap(webhookIdOf(id), use)

        const create = Effect.fn("Webhooks.create")(function* (input: unknown) {
          const { secret, ...draft } = yield* checked(decodeDraft(input), input)
          const token = yield* makeToken
          const now = yield* DateTime.now
          const id = yield* makeWebhookId
          const sealed = yield* secrets.draft(id, { ...draft, ...(secret !== undefined && { secret }) }, now)
          const webhook = yield* store
            .createWebhook(
              {
                ...draft,
                ...sealed,
                id,
                variables: yield* namesIn(draft.prompt_template, draft),
                enabled: draft.enabled ?? true,
                token_hash: hashToken(token),
                token_hint: tokenHint(token),
                created_at: now,
                updated_at: now
              },
              yield* Audit.draft("webhook.created")
            )
            .pipe(Effect.catchTag("TeamUnknown", teamGone))
          return { webhook, token }
        })

        const duplicate = Effect.fn("Webhooks.duplicate")(function* (id: WebhookId, input: unknown) {
          const webhook = yield* store.webhook(id)
          const change = yield* checked(decodeEdit(input), input, webhook)
          // Its callers are asked for what those of the other one are, unless that is changed.
          const secret = change.verification === null ? undefined : secrets.stored(id, yield* store.webhookRow(id))
          const copied = { ...draftFields(webhook), ...(secret !== undefined && { secret }) }
          const fields = { ...copied, name: copyOf(webhook.name), ...change }
          // `null` gives a field back to its default.
          return yield* create(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)))
        })

        const template = (id: string, version: string) =>
          found(id, (id) => Effect.flatMap(versionOf(version), (version) => store.template(id, version)))

        const editOnce = Effect.fnUntraced(function* (
          id: WebhookId,
          input: unknown,
          versions: ReadonlyArray<number> | undefined
        ) {
          // An unknown id is reported before the faults of what was meant for it, and so is another version.
          const before = yield* store.webhook(id)
          const { version } = before
          if (versions?.includes(version) === false) return yield* new ChangedMeanwhile({ version })
          const wish = yield* checked(decodeEdit(input), input, before)
          const { secret: _, keep_old_secret: __, ...change } = wish
          const updated_at = yield* DateTime.now
          const stored = WebhookSecrets.isAbout(wish) ? yield* store.webhookRow(id) : undefined
          return yield* store
            .updateWebhook(
              id,
              {
                ...change,
                ...(stored && (yield* secrets.change(id, wish, stored, updated_at))),
                ...(yield* variablesOf(change, before)),
                updated_at
              },
              {
                // One part of a template was checked with the others as they were, and the secret before is taken from there.
                versions: Option.isSome(templateAfter(change, before))
                  ? [version]
                  : (versions ?? (stored && [stored.version])),
                audit: yield* Audit.draft("webhook.edited")
              }
            )
            .pipe(Effect.catchTag("TeamUnknown", teamGone))
        })

        const edit = Effect.fn("Webhooks.edit")(
          (id: WebhookId, input: unknown, versions: ReadonlyArray<number> | undefined) =>
            Effect.retry(editOnce(id, input, versions), {
              while: (error) => versions === undefined && error._tag === "ChangedMeanwhile"
            })
        )

        const restoreTemplate = (id: string, version: string, versions: ReadonlyArray<number> | undefined) =>
          Effect.gen(function* () {
            const { prompt_template, ...kept } = yield* template(id, version)
            const now = templateOf(yield* found(id, store.webhook))
            // What is as it was need not be set, where it is the default.
            const { template_language = now.template_language, input = now.input } = kept
            const change = {
              prompt_template,
              ...(template_language !== now.template_language && { template_language }),
              ...(input !== now.input && { input })
            }
            return yield* found(id, (id) => edit(id, change, versions))
          })

        const replaceToken = Effect.fnUntraced(function* (id: WebhookId, token: Token, overlap: Duration.Duration) {
          const before = yield* store.webhookRow(id)
          const updated_at = yield* DateTime.now
          const change = {
            ...noOldToken,
            ...(Duration.greaterThan(overlap, Duration.zero) && {
              old_token_hash: before.token_hash,
              old_token_hint: before.token_hint,
              old_token_valid_until: DateTime.addDuration(updated_at, overlap)
            }),
            token_hash: hashToken(token),
            token_hint: tokenHint(token),
            updated_at
          }
          return yield* store.updateWebhook(id, change, {
            versions: [before.version],
            audit: yield* Audit.draft("webhook.token_regenerated")
          })
        })

        const regenerate = Effect.fn("Webhooks.regenerate")(function* (
          id: WebhookId,
          { overlap = Duration.zero }: { readonly overlap?: Duration.Duration } = {}
        ) {
          const token = yield* makeToken
          const webhook = yield* replaceToken(id, token, overlap).pipe(
            // Edited in between: the token before may be another one now.
            Effect.retry({ while: (error) => error._tag === "ChangedMeanwhile" }),
            Effect.catchTags({ ChangedMeanwhile: Effect.die, TeamUnknown: Effect.die })
          )
          return { webhook, token }
        })

        const endOldToken = Effect.fn("Webhooks.endOldToken")(function* (id: WebhookId) {
          yield* store
            .updateWebhook(
              id,
              { ...noOldToken, updated_at: yield* DateTime.now },
              { audit: yield* Audit.draft("webhook.edited") }
            )
            .pipe(Effect.catchTags({ ChangedMeanwhile: Effect.die, TeamUnknown: Effect.die }))
        })

        const remove = Effect.fn("Webhooks.remove")(function* (id: WebhookId) {
          outcomes.deleted(yield* store.deleteWebhook(id, yield* Audit.draft("webhook.deleted")))
        })

        const preview = Effect.fn("Webhooks.preview")(function* (id: WebhookId, sample: Input.Sample) {
          const webhook = yield* store.webhook(id)
          const input = yield* Input.ofSample(webhook, sample)
          const variables = yield* Input.used(webhook, input)
          const refusal = inputChecks.refusalOf(webhook, input)
          if (refusal !== undefined && refusal._tag !== "Ignored") return yield* refusal
          const accepted = webhook.accept_if === undefined ? {} : { accepted: refusal === undefined }
          return yield* render(webhook, variables).pipe(
            Effect.map(({ prompt }): Preview => ({ ...accepted, prompt, missing: [] })),
            Effect.catchTag("MissingVariables", ({ names }) => Effect.succeed<Preview>({ ...accepted, missing: names }))
          )
        })

        return Webhooks.of({
          list: Effect.map(store.webhooks, (webhooks) => webhooks.map(withWarnings)),
          show: (id) => Effect.map(found(id, store.webhook), withWarnings),
          create: (draft) => Effect.map(create(draft), createdWithWarnings),
          duplicate: (id, input) =>
            Effect.map(
              found(id, (id) => duplicate(id, input)),
              createdWithWarnings
            ),
          templates: (id) => found(id, store.templates),
          template,
          restoreTemplate: (...args) => Effect.map(restoreTemplate(...args), withWarnings),
          edit: (id, input, versions) =>
            Effect.map(
              found(id, (id) => edit(id, input, versions)),
              withWarnings
            ),
          regenerate: (id, options) =>
            Effect.map(
              found(id, (id) => regenerate(id, options)),
              createdWithWarnings
            ),
          endOldToken: (id) => found(id, endOldToken),
          remove: (id) => found(id, remove),
          previewDraft,
          preview: (id, sample) => found(id, (id) => preview(id, sample)),
          runs: (id, query) => found(id, (webhook_id) => history.runs({ ...query, webhook_id }))
        })
      })
    )
}

type Fields = { readonly [field in keyof WebhookDraft]?: unknown }

/** What has to fit together. */
const templateFields = ["prompt_template", "template_language", "input"] as const
/** A template names no header in which callers show who they are. */
const checkedTogether = [...templateFields, "verification"] as const

const isVerification = Schema.is(Verification)

const languageOf = (language: unknown): LanguageOptions =>
  language === "simple" || language === "liquid" ? { template_language: language } : {}

/** All that may hold text; what a team's name may hold is stricter. */
const textFields = (Object.keys(WebhookDraft.fields) as ReadonlyArray<keyof Fields>).filter((field) => field !== "team")

/** The fields that the API and audit events show. */
const shownFields = new Set(Object.keys(Webhook.fields))

/** A token must not be shown again. A signature over the URL uses the placeholder `{url}`. */
const tokenFaults = (saved: object): ReadonlyArray<Fault> =>
  Object.entries(saved)
    .filter(([field, value]) => shownFields.has(field) && containsToken(JSON.stringify(value)))
    .map(([field]) => ({
      pointer: `/${field}`,
      detail: "must not contain a token, such as in a trigger URL; in `signed`, write `{url}` instead of the URL"
    }))

/** What is wrong inside of it is said of the field, so that a form can show it there. */
const inSchema = ({ pointer, detail }: Fault): Fault => ({
  pointer: "/schema",
  detail: pointer === "" ? detail : `at ${pointer}: ${detail}`
})

const decodeDraft = decode(WebhookDraft)
const decodeEdit = decode(WebhookEdit)
const isTeamName = Schema.is(TeamName)
const isSchema = (value: unknown): value is JsonObject =>
  Predicate.isReadonlyRecord(value) && isAccepted(webhookSettings.schema, value)
const isWindow = (value: unknown): value is Window =>
  Predicate.isReadonlyRecord(value) && isAccepted(webhookSettings.coalesce, value)

const versionOf = (text: string): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : Effect.fail(new NotFound())

const withWarnings = (webhook: Webhook): Webhook => {
  const warnings = warningsOf(webhook)
  return warnings.length === 0 ? webhook : { ...webhook, warnings }
}

const createdWithWarnings = ({ token, webhook }: WithToken): WithToken => ({ token, webhook: withWarnings(webhook) })

/** What people have set of a webhook. */
const draftFields = (webhook: Webhook) =>
  Object.fromEntries(Object.entries(webhook).filter(([field]) => Object.hasOwn(WebhookDraft.fields, field)))

const copy = " (copy)"
const longestName = 255
/** Cut, and not within a character, when it would be too long. */
const copyOf = (name: string): string => {
  const cut = name.length + copy.length > longestName
  return (cut ? name.slice(0, longestName - copy.length).replace(/[\ud800-\udbff]$/, "") : name) + copy
}

const noSuchTeam: Fault = { pointer: "/team", detail: "there is no such team" }
/** It was there a moment ago. */
const teamGone = (_: TeamUnknown) => new Invalid({ faults: [noSuchTeam] })
