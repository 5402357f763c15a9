import { expect } from "@effect/vitest"
import { Arbitrary, DateTime, Effect, Option, Record, Result, Schema, SchemaAST } from "effect"
import { EditConflict, NotFound, TeamUnknown } from "../../../../src/domain/Errors.ts"
import { makeWebhookId, type WebhookId } from "../../../../src/domain/Id.ts"
import type { TokenHash } from "../../../../src/domain/webhook/Token.ts"
import { Webhook, WebhookRow } from "../../../../src/domain/webhook/Webhook.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  at,
  count,
  createWebhook,
  drain,
  endOne,
  newTokenHash,
  ops,
  outIds,
  queueRun,
  sendRun,
  success,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const fields = Object.keys(WebhookRow.fields).sort()

const required = (field: Schema.Top): Schema.Top =>
  SchemaAST.isOptional(field.ast) ? Schema.requiredKey(field as Schema.optionalKey<Schema.Top>) : field

/** Random texts are hardly ever networks. */
const allow_from = Schema.NonEmptyArray(Schema.Literals(["192.0.2.7", "10.0.0.0/8", "2001:db8::/32"]))

/** PostgreSQL's texts have no zeros and no halves of surrogate pairs, and JSON has no negative zero. */
const isStorable = (value: unknown) =>
  !/\\u(0000|d[89a-f])/.test(JSON.stringify(value, (_, part) => (Object.is(part, -0) ? "\0" : part)))

/** Webhooks with every field of the schema set; the same ones in every test run. */
const complete = Effect.map(
  Effect.all(
    Record.map({ ...Record.map(WebhookRow.fields, required), allow_from }, (field, name) =>
      Arbitrary.sampleEffect(Arbitrary.filter(Arbitrary.schema(field), isStorable), {
        seed: name,
        count: 10,
        maxDiscards: 1_000
      })
    )
  ),
  (values) =>
    count(10).map((i) => {
      const row = Record.map(values, (each) => (DateTime.isDateTime(each[i]) ? at(i) : each[i]))
      return row as unknown as WebhookRow
    })
)

/** As the API shows it. */
const shown = (row: Partial<WebhookRow>) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => Object.hasOwn(Webhook.fields, name)))

export const webhookStore = (test: Test): void => {
  test("reads a webhook with every field set back whole, after it was created and after it was updated", function* () {
    const repo = yield* Repo
    const plain = yield* createWebhook()
    for (const webhook of yield* complete) {
      expect(Object.keys(webhook).sort()).toEqual(fields)
      yield* Effect.ignore(repo.createTeam(webhook.team, at(0)))
      const { id: shares } = yield* createWebhook({ input: webhook.input! })
      const { version: _, ...rest } = { ...webhook, shares }
      const created = { ...rest, id: yield* makeWebhookId, token_hash: yield* newTokenHash }
      const answer = yield* repo.createWebhook(created)
      const { version, ...row } = yield* repo.webhookRow(created.id)
      expect(row).toEqual(created)
      expect(answer).toEqual(shown({ ...created, version }))
      expect(yield* repo.webhook(created.id)).toEqual(answer)

      const before = yield* repo.webhookRow(plain.id)
      const { id: __, created_at: ___, ...change } = rest
      const updated = { ...change, token_hash: yield* newTokenHash, updated_at: at(99) }
      const changed = yield* repo.updateWebhook(plain.id, updated)
      const after = yield* repo.webhookRow(plain.id)
      expect(after).toEqual({ ...before, ...updated, version: after.version })
      expect(after.version).not.toBe(before.version)
      expect(changed).toEqual(shown(after))
      const [found] = yield* repo.webhooksByToken([updated.token_hash], at(99))
      expect(found).toEqual(after)
    }
  })

  test("keeps a URL with one webhook, of which those that share it cannot be changed away, at the same time neither", function* () {
    const repo = yield* Repo
    const [a, b, c] = [yield* createWebhook(), yield* createWebhook(), yield* createWebhook()]
    const share = (one: { readonly id: WebhookId }, shares: string, more = {}) =>
      repo.updateWebhook(one.id, { shares, ...more, updated_at: at(1) })
    const read = (token_hash: TokenHash) => Effect.map(repo.webhooksByToken([token_hash], at(2)), ([row]) => row!)
    const before = yield* read(a.token_hash)
    expect(before.shared_by).toBe(undefined)
    yield* share(b, a.id)
    const after = yield* read(a.token_hash)
    expect(after.version).toBeGreaterThan(before.version)
    expect(after.shared_by).toStrictEqual([yield* repo.webhookRow(b.id)])
    expect(yield* repo.sharing(a.id)).toStrictEqual([{ name: b.name, team: b.team }])
    for (const refused of [share(c, b.id), share(a, c.id), share(c, c.id), share(c, a.id, { input: "payload" })]) {
      expect((yield* Effect.flip(refused))._tag).toBe("Unavailable")
    }
    const input = repo.updateWebhook(a.id, { input: "payload", updated_at: at(1) })
    expect((yield* Effect.flip(input))._tag).toBe("Unavailable")
    const queued = yield* queueRun({ ...a, version: (yield* repo.webhook(a.id)).version })
    expect((yield* Effect.flip(repo.deleteWebhook(a.id)))._tag).toBe("UrlShared")
    expect((yield* repo.run(queued)).status).toBe("queued")
    yield* repo.updateWebhook(b.id, { enabled: false, updated_at: at(3) })
    expect((yield* read(a.token_hash)).shared_by).toBe(undefined)
    yield* repo.deleteWebhook(b.id)
    // Both cannot come first.
    const both = yield* Effect.all([Effect.result(share(a, c.id)), Effect.result(share(c, a.id))], together)
    expect(both.filter(Result.isSuccess)).toHaveLength(1)
  })

  test("stores text as it is, and leaves absent fields absent", function* () {
    const repo = yield* Repo
    const text = {
      name: 'Déploiement ‘$x’ \\ "q" 日本 🚀',
      prompt_template: "{{a}} $& {{b.c}}\n\t%s",
      variables: ["a", "b.c"]
    }
    const { token_hash, version, ...webhook } = yield* createWebhook(text)
    expect(webhook).toEqual({
      id: webhook.id,
      ...text,
      team: "ops",
      enabled: true,
      token_hint: "…x7Qa",
      created_at: at(0),
      updated_at: at(0)
    })
    const read = yield* repo.webhook(webhook.id)
    expect(read).toEqual({ ...webhook, version })
    expect(Object.keys(read)).not.toContain("timeout_seconds")
    expect(Object.keys(read)).not.toContain("last_triggered_at")
    expect(yield* repo.webhookRow(webhook.id)).toEqual({ ...webhook, token_hash, version })
    expect(Object.keys(yield* repo.webhookRow(webhook.id))).not.toContain("timeout_seconds")
  })

  test("stores what text cannot hold as the replacement character", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ name: "a\u0000", prompt_template: "\ud800" })
    expect(webhook).toMatchObject({ name: "a\ufffd", prompt_template: "\ufffd" })
    const change = { name: "b\u0000", prompt_template: "\udc00", updated_at: at(1) }
    expect(yield* repo.updateWebhook(webhook.id, change)).toMatchObject({
      name: "b\ufffd",
      prompt_template: "\ufffd"
    })
  })

  test("refuses a team that does not exist", function* () {
    const repo = yield* Repo
    const { last_triggered_at: _, version: __, ...webhook } = yield* createWebhook()
    const nowhere = team("nowhere")
    const astray = { ...webhook, id: yield* makeWebhookId, team: nowhere, token_hash: yield* newTokenHash }
    expect(yield* Effect.flip(repo.createWebhook(astray))).toEqual(new TeamUnknown({ team: nowhere }))
    const move = repo.updateWebhook(webhook.id, { team: nowhere, updated_at: at(1) })
    expect(yield* Effect.flip(move)).toEqual(new TeamUnknown({ team: nowhere }))
    const unknown = yield* makeWebhookId
    expect(yield* Effect.flip(repo.updateWebhook(unknown, { updated_at: at(1) }))).toEqual(new NotFound())
    expect(yield* Effect.flip(repo.webhook(unknown))).toEqual(new NotFound())
    expect(yield* Effect.flip(repo.webhookRow(unknown))).toEqual(new NotFound())
  })

  test("changes only what is given, and null removes a setting", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ timeout_seconds: 7, max_concurrent: 3 })
    const renamed = { max_concurrent: null, name: "renamed", updated_at: at(5) }
    const changed = yield* repo.updateWebhook(webhook.id, renamed)
    const { token_hash: _, version: __, max_concurrent: ___, ...rest } = webhook
    expect(changed).toEqual({ ...rest, name: "renamed", updated_at: at(5), version: changed.version })
    const again = yield* repo.updateWebhook(webhook.id, {
      timeout_seconds: null,
      max_concurrent: 9,
      prompt_template: "{{x}}",
      variables: ["x"],
      enabled: false,
      updated_at: at(6)
    })
    expect(again).toMatchObject({ max_concurrent: 9, prompt_template: "{{x}}", variables: ["x"], enabled: false })
    expect(Object.keys(again)).not.toContain("timeout_seconds")
    expect(yield* repo.webhook(webhook.id)).toEqual(again)
  })

  test("changes a webhook only in one of the expected versions, and it has each version once", function* () {
    const repo = yield* Repo
    const { id, version: first } = yield* createWebhook()
    const rename = (name: string, versions: ReadonlyArray<number>) =>
      repo.updateWebhook(id, { name, updated_at: at(1) }, { versions })
    const { version: second } = yield* rename("second", [first])
    expect(yield* Effect.flip(rename("late", [first]))).toEqual(new EditConflict({ version: second }))
    expect(yield* Effect.flip(rename("none", []))).toEqual(new EditConflict({ version: second }))
    expect((yield* repo.webhook(id)).name).toBe("second")
    const third = yield* rename("third", [first, second])
    expect(third.name).toBe("third")
    expect([first, second]).not.toContain(third.version)
    // Two at once: only one has the version that it was made for.
    const both = [rename("a", [third.version]), rename("b", [third.version])].map(Effect.option)
    expect((yield* Effect.all(both, { concurrency: 2 })).filter(Option.isSome)).toHaveLength(1)
    const unknown = yield* makeWebhookId
    expect(yield* Effect.flip(repo.updateWebhook(unknown, { updated_at: at(1) }, { versions: [first] }))).toEqual(
      new NotFound()
    )
  })

  test("knows the first request that was verified in the webhook's version", function* () {
    const repo = yield* Repo
    const { id: webhook_id, version } = yield* createWebhook()
    const other = yield* createWebhook()
    const verifiedAt = Effect.map(repo.webhook(webhook_id), ({ verified_at }) => verified_at)
    yield* repo.verified([{ webhook_id, version: version + 1, verified_at: at(1) }])
    expect(yield* verifiedAt).toBeUndefined()
    yield* repo.verified([
      { webhook_id, version, verified_at: at(2) },
      { webhook_id: other.id, version: 7, verified_at: at(2) }
    ])
    yield* repo.verified([{ webhook_id, version, verified_at: at(3) }])
    expect(yield* repo.webhook(webhook_id)).toMatchObject({ version, verified_at: at(2) })
    expect(yield* repo.webhook(other.id)).not.toHaveProperty("verified_at")
    yield* repo.updateWebhook(webhook_id, { verified_at: null, updated_at: at(4) })
    expect(yield* verifiedAt).toBeUndefined()
  })

  test("lists webhooks by name, with when they were last triggered", function* () {
    const repo = yield* Repo
    const beta = yield* createWebhook({ name: "Beta" })
    yield* createWebhook({ name: "gamma" })
    yield* createWebhook({ name: "alpha" })
    yield* queueRun(beta, { accepted_at: at(10) })
    yield* queueRun(beta, { accepted_at: at(20) })
    const listed = yield* repo.webhooks
    expect(listed.map(({ name, last_triggered_at }) => [name, last_triggered_at])).toEqual([
      ["alpha", undefined],
      ["Beta", at(20)],
      ["gamma", undefined]
    ])
    expect((yield* repo.webhook(beta.id)).last_triggered_at).toEqual(at(20))
  })

  test("deletes a webhook only in one of the versions that are asked for", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const run = yield* queueRun(webhook)
    const { version } = yield* repo.webhook(webhook.id)
    const refused = yield* Effect.flip(repo.deleteWebhook(webhook.id, { versions: [version + 1] }))
    expect(refused).toEqual(new EditConflict({ version }))
    expect((yield* repo.ended([run])).deleted).toEqual([])
    expect(yield* repo.deleteWebhook(webhook.id, { versions: [version + 7, version] })).toEqual([
      { run_id: run, team: ops }
    ])
    expect(yield* Effect.flip(repo.deleteWebhook(webhook.id, { versions: [version] }))).toEqual(new NotFound())
  })

  test("deletes a webhook's runs with it, and names those that were not finished", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const ended = yield* sendRun(webhook, 1)
    yield* endOne(ended, success("done"), 2)
    const running = yield* sendRun(webhook, 1)
    const [queued, untouched] = [yield* queueRun(webhook), yield* queueRun(other)]
    const unfinished = [running, queued].map((run_id) => ({ run_id, team: ops }))
    expect(yield* repo.deleteWebhook(webhook.id)).toEqual(unfinished)
    expect((yield* repo.ended([queued, running, ended, untouched])).deleted.toSorted()).toEqual(
      [queued, running, ended].sort()
    )
    expect(yield* Effect.flip(repo.deleteWebhook(webhook.id))).toEqual(new NotFound())
    expect(yield* outIds).toEqual([])
    expect(yield* drain()).toEqual([untouched])
    expect(yield* endOne(running, success("late"), 3)).toEqual({ recorded: false, run: undefined })
  })
}
