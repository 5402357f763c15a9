import { type Context, DateTime, Effect } from "effect"
import type { AuditDraft } from "../../../domain/access/AuditEvent.ts"
import { EditConflict, NotFound, TeamUnknown } from "../../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../../domain/Id.ts"
import { templateOf } from "../../../domain/prompt/TemplateChanges.ts"
import { type TemplateVersion, templatesKept } from "../../../domain/prompt/TemplateVersion.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { Webhook, type WebhookRow } from "../../../domain/webhook/Webhook.ts"
import { keptKey, WebhookStore } from "../../manage/WebhookStore.ts"
import { webhookChange } from "../access/AuditStoreMemory.ts"
import { by, change, isOpenedBy, isWaiting, orNotFound, sameBytes, storableFields, type Tables } from "../Tables.ts"

export const makeWebhookStore = (tables: Tables): Context.Tag.Service<WebhookStore> => {
  const { audit, days, notify, remove, taken, teams, templates, webhooks, where } = tables
  const view = (webhook: WebhookRow): Webhook => {
    const shown = Object.entries(webhook).filter(([field]) => Object.hasOwn(Webhook.fields, field))
    const last = where((row) => row.webhook_id === webhook.id).at(-1)
    return {
      ...(Object.fromEntries(shown) as unknown as Webhook),
      ...(last && { last_triggered_at: last.row.accepted_at })
    }
  }

  const keepTemplate = (webhook: WebhookRow, draft: AuditDraft | undefined) => {
    const { id, updated_at: at, version } = webhook
    const template = templateOf(webhook)
    const kept = templates.get(id) ?? []
    if (Object.entries(template).every(([name, value]) => kept[0]?.[name as keyof TemplateVersion] === value)) return
    const { actor = "unknown", key_name, person_name, session_id, client_address } = draft ?? {}
    const by = {
      actor,
      ...(key_name && { key_name }),
      ...(person_name && { person_name }),
      ...(session_id && { session_id }),
      ...(client_address && { client_address })
    }
    templates.set(id, [{ version, ...template, at, ...by }, ...kept].slice(0, templatesKept))
  }

  const write = (webhook: WebhookRow, draft: AuditDraft | undefined): Effect.Effect<Webhook, TeamUnknown> => {
    if (!teams.has(webhook.team)) return new TeamUnknown({ team: webhook.team })
    const fields = Object.entries(webhook).filter(([, value]) => value !== null)
    const stored = storableFields(Object.fromEntries(fields) as unknown as WebhookRow)
    audit.write(draft, { object: webhook.id, ...webhookChange(webhooks.get(webhook.id), stored) })
    webhooks.set(webhook.id, stored)
    keepTemplate(stored, draft)
    notify({ _tag: "WebhookChanged", webhook_id: webhook.id })
    return Effect.succeed(view(stored))
  }

  const replace = (before: WebhookRow, after: WebhookRow, draft: AuditDraft | undefined) => {
    audit.write(draft, { object: after.id, ...webhookChange(before, after) })
    webhooks.set(after.id, after)
    notify({ _tag: "WebhookChanged", webhook_id: after.id })
  }

  const webhookRow = (id: WebhookId) =>
    orNotFound(
      () => webhooks.get(id),
      (webhook) => webhook
    )

  return WebhookStore.of({
    createWebhook: (webhook, draft) => Effect.suspend(() => write({ ...webhook, version: 1 }, draft)),
    webhooks: Effect.sync(() =>
      [...webhooks.values()].map(view).sort(by(({ name, id }) => `${name.toLowerCase()}\0${id}`))
    ),
    webhook: (id) => Effect.map(webhookRow(id), view),
    webhooksByToken: (hashes, now) =>
      Effect.sync(() => {
        const all = [...webhooks.values()]
        return hashes.map((token_hash) => {
          const found = all.find((webhook) => isOpenedBy(webhook, token_hash, now))
          return found && { ...found, token_hash }
        })
      }),
    templates: (id) =>
      orNotFound(
        () => templates.get(id),
        (kept) => kept.map(({ prompt_template: _, ...summary }) => summary)
      ),
    template: (id, version) =>
      orNotFound(
        () =>
          (webhooks.get(id)?.version ?? 0) < version
            ? undefined
            : templates.get(id)?.find((kept) => kept.version <= version),
        (kept) => kept
      ),
    oldTokensUsed: (uses) =>
      Effect.sync(() => {
        for (const { webhook_id, old_token_hash, ...use } of uses) {
          const webhook = webhooks.get(webhook_id)
          if (webhook?.old_token_hash !== undefined && sameBytes(webhook.old_token_hash, old_token_hash)) {
            webhooks.set(webhook_id, { ...webhook, ...use })
          }
        }
      }),
    verified: (first) =>
      Effect.sync(() => {
        for (const { webhook_id, version, verified_at } of first) {
          const webhook = webhooks.get(webhook_id)
          if (webhook === undefined || webhook.version !== version || webhook.verified_at !== undefined) continue
          webhooks.set(webhook_id, { ...webhook, verified_at })
          notify({ _tag: "WebhookChanged", webhook_id })
        }
      }),
    webhookRow,
    updateWebhook: (id, edit, { versions, audit: draft } = {}) =>
      Effect.flatMap(webhookRow(id), (webhook): Effect.Effect<Webhook, EditConflict | TeamUnknown> => {
        const { version } = webhook
        return versions?.includes(version) === false
          ? new EditConflict({ version })
          : write({ ...webhook, ...edit, version: version + 1 } as WebhookRow, draft)
      }),
    pauseWebhook: (id, { at, reason, version }, draft) =>
      Effect.sync(() => {
        const webhook = webhooks.get(id)
        if (webhook?.version !== version || !webhook.enabled || webhook.paused_at !== undefined) return false
        const paused = { paused_at: at, paused_by: "automatic", paused_reason: reason } as const
        replace(webhook, { ...webhook, ...paused, version: version + 1 }, draft)
        return true
      }),
    resumeWebhook: (id, at, draft) =>
      Effect.sync(() => {
        const webhook = webhooks.get(id)
        if (webhook?.paused_at === undefined) return false
        const { paused_at: _, paused_by: __, paused_reason: ___, ...rest } = webhook
        replace(webhook, { ...rest, failures_since: at, version: webhook.version + 1 }, draft)
        for (const [key, { run_id }] of tables.windows) {
          if (!key.startsWith(`${id} `) || !key.includes(` ${keptKey}`)) continue
          tables.windows.set(key, { run_id, until: at })
          const run = tables.find(run_id)
          if (run === undefined || !isWaiting(run.row)) continue
          const { collecting_until, deadline_at } = run.row
          const wait = deadline_at && collecting_until && DateTime.distance(collecting_until, deadline_at)
          change(run, {
            collecting_until: at,
            ...(wait !== undefined && { deadline_at: DateTime.add(at, { millis: wait }) })
          })
        }
        return true
      }),
    deleteWebhook: (id, { audit: draft, versions } = {}) =>
      Effect.suspend((): Effect.Effect<ReadonlyArray<RunId>, EditConflict | NotFound> => {
        const webhook = webhooks.get(id)
        if (webhook === undefined) return new NotFound()
        if (versions?.includes(webhook.version) === false) return new EditConflict({ version: webhook.version })
        webhooks.delete(id)
        audit.write(draft, { object: id, ...webhookChange(webhook, undefined) })
        days.delete(id)
        taken.delete(id)
        templates.delete(id)
        tables.requests = tables.requests.filter(({ webhook_id }) => webhook_id !== id)
        tables.ignored = tables.ignored.filter(({ webhook_id }) => webhook_id !== id)
        const unfinished = where((row) => row.webhook_id === id && !isFinal(row.status))
        remove((row) => row.webhook_id === id)
        notify({ _tag: "WebhookChanged", webhook_id: id })
        for (const { row } of unfinished) notify({ _tag: "RunEnded", run_id: row.run_id })
        return Effect.succeed(unfinished.map(({ row }) => row.run_id))
      })
  })
}
