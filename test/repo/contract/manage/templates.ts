import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { AuditDraft } from "../../../../src/domain/access/AuditEvent.ts"
import { NotFound } from "../../../../src/domain/Errors.ts"
import { auditEventIdAt, makeWebhookId } from "../../../../src/domain/Id.ts"
import { templatesKept } from "../../../../src/domain/prompt/TemplateVersion.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acceptOne, at, count, createWebhook, epoch, newMessage, newRun, newTokenHash } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const by = (ms: number): AuditDraft => ({
  id: auditEventIdAt(epoch + ms),
  at: at(ms),
  action: "webhook.edited",
  actor: "session",
  person_name: "Ada",
  session_id: "a session",
  client_address: "203.0.113.7"
})

export const templates = (test: Test): void => {
  test("keeps each template of a webhook, with who has set it and when, and finds the one of any version", function* () {
    const repo = yield* Repo
    const { id } = yield* createWebhook({ prompt_template: "one" })
    yield* createWebhook({ prompt_template: "another webhook's" })
    const edit = (ms: number, change: { readonly prompt_template?: string; readonly name?: string }) =>
      repo.updateWebhook(id, { ...change, updated_at: at(ms) }, { audit: by(ms) })
    yield* edit(10, { name: "renamed" })
    yield* edit(20, { prompt_template: "two" })
    yield* edit(30, { prompt_template: "two" })
    yield* edit(40, { prompt_template: "one" })
    const usual = { template_language: "simple", input: "variables" }
    const first = { version: 1, at: at(0), actor: "unknown", ...usual }
    const byPage = {
      ...{ actor: "session", person_name: "Ada", session_id: "a session" },
      client_address: "203.0.113.7"
    }
    const second = { version: 3, at: at(20), ...byPage, ...usual }
    const third = { version: 5, at: at(40), ...byPage, ...usual }
    expect(yield* repo.templates(id)).toEqual([third, second, first])
    const found = yield* Effect.forEach([1, 2, 3, 4, 5], (version) => repo.template(id, version))
    const [one, two, three] = [
      { ...first, prompt_template: "one" },
      { ...second, prompt_template: "two" },
      { ...third, prompt_template: "one" }
    ]
    expect(found).toEqual([one, one, two, two, three])
  })

  test("keeps a template with its language and its input, and a change of either is another version", function* () {
    const repo = yield* Repo
    const { id } = yield* createWebhook({ prompt_template: "one", template_language: "liquid" })
    const edit = (change: { readonly template_language?: "simple" | null; readonly input?: "payload" }) =>
      repo.updateWebhook(id, { ...change, updated_at: at(1) })
    yield* edit({ template_language: null })
    // The same in other words.
    yield* edit({ template_language: "simple" })
    yield* edit({ input: "payload" })
    const kept = yield* Effect.forEach([1, 2, 3, 4], (version) => repo.template(id, version))
    expect(kept.map(({ version, template_language, input }) => [version, template_language, input])).toEqual([
      [1, "liquid", "variables"],
      [2, "simple", "variables"],
      [2, "simple", "variables"],
      [4, "simple", "payload"]
    ])
    expect(kept.map(({ prompt_template }) => prompt_template)).toEqual(["one", "one", "one", "one"])
    expect((yield* repo.templates(id)).map(({ template_language }) => template_language)).toEqual([
      ...["simple", "simple", "liquid"]
    ])
  })

  test("has no templates of a webhook that is not there, and none of a version that it has not had", function* () {
    const repo = yield* Repo
    const { id } = yield* createWebhook()
    const none = yield* makeWebhookId
    for (const missing of [repo.template(id, 0), repo.template(id, 2), repo.template(none, 1), repo.templates(none)]) {
      expect(yield* Effect.flip<unknown, unknown, never>(missing)).toEqual(new NotFound())
    }
    yield* repo.deleteWebhook(id)
    expect(yield* Effect.flip(repo.templates(id))).toEqual(new NotFound())
  })

  test("keeps the newest templates, however many there were", function* () {
    const repo = yield* Repo
    const { id } = yield* createWebhook({ prompt_template: "first" })
    for (const n of count(templatesKept + 20)) {
      yield* repo.updateWebhook(id, { prompt_template: `text ${n}`, updated_at: at(n) })
    }
    const kept = yield* repo.templates(id)
    expect(kept).toHaveLength(templatesKept)
    expect(kept[0]!.version).toBe(templatesKept + 21)
    expect((yield* Effect.flip(repo.template(id, 1)))._tag).toBe("NotFound")
  })

  test("names the version of the webhook that a run was made from, and none of a message or a reply", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const changed = { token_hash: yield* newTokenHash, updated_at: at(1) }
    const [first, message, reply] = [
      yield* newRun(webhook),
      yield* newMessage(),
      yield* newRun(webhook, { webhook_version: null })
    ]
    for (const run of [first, message, reply]) yield* acceptOne(run)
    yield* repo.updateWebhook(webhook.id, changed)
    const second = yield* newRun({ ...webhook, ...changed, version: 2 })
    yield* acceptOne(second)
    expect((yield* repo.run(first.run_id)).webhook_version).toBe(1)
    expect((yield* repo.run(second.run_id)).webhook_version).toBe(2)
    for (const { run_id } of [message, reply]) expect(yield* repo.run(run_id)).not.toHaveProperty("webhook_version")
    const { data } = yield* repo.runs({ webhook_id: webhook.id, limit: 9 })
    expect(data.map(({ webhook_version }) => webhook_version)).toEqual([2, undefined, 1])
  })
}
