import { Context, DateTime, type Duration, Effect, Layer, Result } from "effect"
import {
  EditConflict,
  type Invalid,
  type InvalidParameter,
  NotFound,
  type Unavailable,
  type UrlShared
} from "../../domain/Errors.ts"
import { makeWebhookId, type WebhookId } from "../../domain/Id.ts"
import { webhookIdOf } from "../../domain/ParsedId.ts"
import { templateOf } from "../../domain/prompt/TemplateChanges.ts"
import type { TemplateVersion, TemplateVersionSummary } from "../../domain/prompt/TemplateVersion.ts"
import { nextTime } from "../../domain/webhook/Schedule.ts"
import { warningsOf } from "../../domain/webhook/Warnings.ts"
import { type Webhook, WebhookDraft, type WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import type { RunPage, RunQuery } from "../../repo/history/RunQuery.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { LaneStore } from "../../repo/run/LaneStore.ts"
import * as Audit from "../access/Audit.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import * as DraftPreview from "../prompt/DraftPreview.ts"
import type * as Input from "../prompt/Input.ts"
import { Renderer } from "../prompt/Renderer.ts"
import type { Preview, PreviewRefused } from "../prompt/WebhookPreview.ts"
import * as WebhookPreview from "../prompt/WebhookPreview.ts"
import { Settings } from "../Settings.ts"
import { Sender } from "../step/Sender.ts"
import { Steps } from "../step/Steps.ts"
import { hashToken, makeToken, type Token, tokenHint } from "../verify/Token.ts"
import * as WebhookSecrets from "../verify/WebhookSecrets.ts"
import * as OwnMessageWarning from "./OwnMessageWarning.ts"
import * as SharedUrls from "./SharedUrls.ts"
import * as WebhookTokens from "./WebhookTokens.ts"
import * as WebhookValidation from "./WebhookValidation.ts"

/** The webhook with its token, which is shown only this once; absent: it shares another one's URL. */
export interface WithToken {
  readonly webhook: Webhook
  readonly token?: Token
}

/** Manages webhooks. IDs come unparsed; a malformed one is `NotFound`. */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly list: Effect.Effect<ReadonlyArray<Webhook>, Unavailable>
    readonly show: (id: string) => Effect.Effect<Webhook, NotFound | Unavailable>
    /** From an unchecked draft. Lists every fault. */
    readonly create: (draft: unknown) => Effect.Effect<WithToken, Invalid | Unavailable>
    /** Checks a draft as `create` does, but for its secret, and stores nothing. */
    readonly check: (draft: unknown) => Effect.Effect<void, Invalid | Unavailable>
    /** A copy with the same settings and secret and a new token. The given fields are changed, as in an edit. */
    readonly duplicate: (id: string, edit: unknown) => Effect.Effect<WithToken, NotFound | Invalid | Unavailable>
    /** Applies to the next trigger. With `versions`, fails unless the webhook has one of them. */
    readonly edit: (
      id: string,
      edit: unknown,
      versions?: ReadonlyArray<number>
    ) => Effect.Effect<Webhook, EditConflict | NotFound | Invalid | Unavailable>
    /** Its templates' versions, with author and time, newest first. */
    readonly templates: (id: string) => Effect.Effect<ReadonlyArray<TemplateVersionSummary>, NotFound | Unavailable>
    /** The template of one version. */
    readonly template: (id: string, version: string) => Effect.Effect<TemplateVersion, NotFound | Unavailable>
    /** Restores the template of that version, as an edit. `Invalid`: it does not fit the webhook's current input. */
    readonly restoreTemplate: (
      id: string,
      version: string,
      versions?: ReadonlyArray<number>
    ) => Effect.Effect<Webhook, EditConflict | NotFound | Invalid | Unavailable>
    /** The old token becomes invalid immediately, or after `overlap`. Older tokens become invalid immediately. */
    readonly regenerate: (
      id: string,
      options?: { readonly overlap?: Duration.Duration }
    ) => Effect.Effect<WithToken, NotFound | UrlShared | Unavailable>
    /** Ends an old token that is still valid. */
    readonly endOldToken: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** Ends its automatic pause. One that is not paused stays as it is. */
    readonly resume: (id: string) => Effect.Effect<Webhook, NotFound | Unavailable>
    /**
     * Deletes its runs too. Waiting callers get `NotFound`. With `versions`, only if it has one of these. `UrlShared`: other
     * webhooks share its URL.
     */
    readonly remove: (
      id: string,
      versions?: ReadonlyArray<number>
    ) => Effect.Effect<void, EditConflict | NotFound | UrlShared | Unavailable>
    /** Renders the prompt for this input, without a run. */
    readonly preview: (
      id: string,
      sample: Input.Sample
    ) => Effect.Effect<Preview, PreviewRefused | NotFound | Unavailable>
    /** Checks and renders a template that is not saved. */
    readonly previewDraft: DraftPreview.PreviewDraft
    readonly runs: (
      id: string,
      query: Omit<RunQuery, "webhook_id">
    ) => Effect.Effect<RunPage, NotFound | InvalidParameter | Unavailable>
  }
>()("webhook-trigger/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const outcomes = yield* Outcomes
      const lanes = yield* LaneStore
      const sender = yield* Sender
      const steps = yield* Steps
      const { unknownCost } = yield* Settings
      const preview = yield* WebhookPreview.make
      const previewDraft = yield* DraftPreview.make
      const history = yield* HistoryStore
      const store = yield* WebhookStore
      const secrets = yield* WebhookSecrets.make
      const validation = yield* WebhookValidation.make
      const tokens = yield* WebhookTokens.make
      const sharedUrls = yield* SharedUrls.make
      const templates = yield* makeTemplates
      const shown = yield* makeShown
      const createdShown = ({ webhook, ...token }: WithToken) =>
        Effect.map(shown(webhook), (webhook): WithToken => ({ ...token, webhook }))

      /** A budget of cost limits only what is known. */
      const warn = ({ id, max_cost_per_day }: Webhook) =>
        max_cost_per_day === undefined || unknownCost > 0
          ? Effect.void
          : Effect.logWarning(
              "A webhook has max_cost_per_day, but runs whose cost is unknown count as $0: set WEBHOOK_UNKNOWN_COST"
            ).pipe(Effect.annotateLogs({ webhook_id: id }))

      const found = <A, E>(id: string, use: (id: WebhookId) => Effect.Effect<A, E>): Effect.Effect<A, E | NotFound> =>
        Effect.flatMap(webhookIdOf(id), use)

      const create = Effect.fn("Webhooks.create")(function* (input: unknown) {
        const { secret, ...draft } = yield* validation.draft(input)
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
              variables: yield* validation.namesIn(draft.prompt_template, draft),
              enabled: draft.enabled ?? true,
              token_hash: hashToken(token),
              ...(draft.schedule !== undefined && { next_scheduled_at: next(draft.schedule, now) }),
              ...(draft.shares === undefined && { token_hint: tokenHint(token) }),
              created_at: now,
              updated_at: now
            },
            yield* Audit.draft("webhook.created")
          )
          .pipe(Effect.catchTag("TeamUnknown", WebhookValidation.teamGone), Effect.tap(warn))
        return { webhook, ...(draft.shares === undefined && { token }) }
      })

      const duplicate = Effect.fn("Webhooks.duplicate")(function* (id: WebhookId, input: unknown) {
        const webhook = yield* store.webhook(id)
        const change = yield* validation.edit(input, webhook)
        // Takes over the other webhook's verification, unless that is changed.
        const secret = change.verification === null ? undefined : secrets.stored(id, yield* store.webhookRow(id))
        const copied = { ...draftFields(webhook), ...(secret !== undefined && { secret }) }
        const fields = { ...copied, name: copyOf(webhook.name), ...change }
        // `null` restores a field's default.
        return yield* create(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)))
      })

      const editOnce = Effect.fnUntraced(function* (
        id: WebhookId,
        input: unknown,
        versions: ReadonlyArray<number> | undefined
      ) {
        // An unknown id and an edit conflict are reported before faults.
        const before = yield* store.webhook(id)
        const { version } = before
        if (versions?.includes(version) === false) return yield* new EditConflict({ version })
        const requested = yield* validation.edit(input, before)
        const { secret: _, keep_old_secret: __, ...change } = requested
        const updated_at = yield* DateTime.now
        const stored = WebhookSecrets.isAbout(requested) ? yield* store.webhookRow(id) : undefined
        return yield* store
          .updateWebhook(
            id,
            {
              ...change,
              ...(stored && (yield* secrets.change(id, requested, stored, updated_at))),
              ...(yield* validation.variablesOf(change, before)),
              ...(typeof change.shares === "string" && (yield* tokens.none)),
              ...(startsCounting(change, before) && { failures_since: updated_at }),
              ...(change.schedule !== undefined &&
                change.schedule !== before.schedule && {
                  next_scheduled_at: change.schedule === null ? null : next(change.schedule, updated_at)
                }),
              ...(change.team !== undefined && change.team !== before.team && { moved_at: updated_at }),
              updated_at
            },
            {
              // One part of a template was checked together with the current others, as `shares` was with other fields.
              // The current secret is used, and a team is another one than the current one, or not.
              versions:
                validation.changesTemplate(change, before) || change.team !== undefined || change.shares !== undefined
                  ? [version]
                  : (versions ?? (stored && [stored.version])),
              audit: yield* Audit.draft("webhook.edited")
            }
          )
          .pipe(Effect.catchTag("TeamUnknown", WebhookValidation.teamGone), Effect.tap(warn))
      })

      const edit = Effect.fn("Webhooks.edit")(
        (id: WebhookId, input: unknown, versions: ReadonlyArray<number> | undefined) =>
          Effect.retry(editOnce(id, input, versions), {
            while: (error) => versions === undefined && error._tag === "EditConflict"
          })
      )

      const resume = Effect.fn("Webhooks.resume")(function* (id: WebhookId) {
        yield* store.resumeWebhook(id, yield* DateTime.now, yield* Audit.draft("webhook.resumed"))
        return yield* store.webhook(id)
      })

      const remove = Effect.fn("Webhooks.remove")(function* (id: WebhookId, versions?: ReadonlyArray<number>) {
        yield* sharedUrls.checkDeletion(id)
        const audit = yield* Audit.draft("webhook.deleted")
        const out = (yield* lanes.out).filter(({ webhook_id }) => webhook_id === id)
        const unfinished = yield* store.deleteWebhook(id, { versions, audit })
        outcomes.deleted(unfinished.map(({ run_id }) => run_id))
        // Meanwhile, a team may have got its next one.
        const last = new Map([...unfinished.toReversed(), ...out].map((run) => [run.team, run]))
        if (last.size === 0) return
        sender.deleted([...last.values()])
        yield* Effect.ignoreCause({ log: "Debug" })(steps.admit([...last.keys()]))
      })

      return Webhooks.of({
        list: Effect.flatMap(store.webhooks, Effect.forEach(shown)),
        check: (input) => Effect.asVoid(validation.draft(input)),
        show: (id) => Effect.flatMap(found(id, store.webhook), shown),
        create: (draft) => Effect.flatMap(create(draft), createdShown),
        duplicate: (id, input) =>
          Effect.flatMap(
            found(id, (id) => duplicate(id, input)),
            createdShown
          ),
        templates: (id) => found(id, store.templates),
        template: (id, version) => found(id, (id) => templates.version(id, version)),
        restoreTemplate: (id, version, versions) =>
          Effect.flatMap(
            found(id, (id) => templates.restore(id, version, (change) => edit(id, change, versions))),
            shown
          ),
        edit: (id, input, versions) =>
          Effect.flatMap(
            found(id, (id) => edit(id, input, versions)),
            shown
          ),
        regenerate: (id, options) =>
          Effect.flatMap(
            found(id, (id) => tokens.regenerate(id, options)),
            createdShown
          ),
        resume: (id) => Effect.flatMap(found(id, resume), shown),
        endOldToken: (id) => found(id, tokens.endOldToken),
        remove: (id, versions) => found(id, (id) => remove(id, versions)),
        previewDraft,
        preview: (id, sample) =>
          found(id, (id) => Effect.flatMap(store.webhook(id), (webhook) => preview(webhook, sample))),
        runs: (id, query) => found(id, (webhook_id) => history.runs({ ...query, webhook_id }))
      })
    })
  )
}

/** The next time of a schedule that was checked. */
const next = (schedule: string, now: DateTime.Utc) => Result.getOrThrow(nextTime(schedule, now))

/** Failures from before count for no pause. */
const startsCounting = ({ enabled, pause_after_failures }: WebhookEdit, before: Webhook): boolean =>
  (enabled === true && !before.enabled) ||
  (pause_after_failures !== undefined && pause_after_failures !== before.pause_after_failures)

/** The fields that people set. */
const draftFields = (webhook: Webhook) =>
  Object.fromEntries(Object.entries(webhook).filter(([field]) => Object.hasOwn(WebhookDraft.fields, field)))

const copy = " (copy)"
const longestName = 255
/** Cut, but not within a character, if it would be too long. */
const copyOf = (name: string): string => {
  const cut = name.length + copy.length > longestName
  return (cut ? name.slice(0, longestName - copy.length).replace(/[\ud800-\udbff]$/, "") : name) + copy
}

/** A webhook as people see it: with warnings about its settings, and without an old token whose time is over. */
const makeShown = Effect.map(Effect.all([Renderer, OwnMessageWarning.make]), ([renderer, ownMessages]) => {
  /** A stored key has no fault, but a busy server may not get to parse it. */
  const namesIn = ({ template_language }: Webhook, template: string | undefined) =>
    template === undefined
      ? Effect.succeed([])
      : Effect.orElseSucceed(
          renderer.placeholders(template, { ...(template_language && { template_language }) }),
          () => []
        )

  return (webhook: Webhook): Effect.Effect<Webhook> =>
    Effect.gen(function* () {
      const warnings = [
        ...warningsOf(webhook, {
          thread_key: yield* namesIn(webhook, webhook.thread_key),
          singleton: yield* namesIn(webhook, webhook.singleton?.key)
        }),
        ...(yield* Effect.orElseSucceed(ownMessages(webhook), () => []))
      ]
      const current = withoutOldToken(webhook, yield* DateTime.now)
      return warnings.length === 0 ? current : { ...current, warnings }
    })
})

const withoutOldToken = (webhook: Webhook, now: DateTime.Utc): Webhook => {
  const { old_token_hint, old_token_used_at, old_token_used_from, old_token_valid_until: until, ...rest } = webhook
  return until !== undefined && DateTime.isLessThanOrEqualTo(until, now) ? rest : webhook
}

/** Earlier templates of a webhook: shows one, and restores it as an edit. */
const makeTemplates = Effect.gen(function* () {
  const store = yield* WebhookStore

  const version = (id: WebhookId, version: string) =>
    Effect.flatMap(versionOf(version), (version) => store.template(id, version))

  const restore = <A, E>(id: WebhookId, of: string, edit: (change: object) => Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const { prompt_template, ...others } = yield* version(id, of)
      const now = templateOf(yield* store.webhook(id))
      // Fields that equal their default need not be set.
      const { template_language = now.template_language, input = now.input } = others
      return yield* edit({
        prompt_template,
        ...(template_language !== now.template_language && { template_language }),
        ...(input !== now.input && { input })
      })
    })

  return { version, restore }
})

const versionOf = (text: string): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : Effect.fail(new NotFound())
