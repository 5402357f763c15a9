import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { NotVerified } from "../../../src/domain/Errors.ts"
import { Trigger } from "../../../src/engine/trigger/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, makeTeam, makeWebhook, onEngine } from "../Scenario.ts"

onEngine(
  "checks a request again when its webhook was edited, and refuses it only by the webhook as it is now",
  function* () {
    const repo = yield* Repo
    const trigger = yield* Trigger
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const { id } = yield* makeWebhook(team)
    const before = yield* repo.webhookRow(id)
    const now = yield* DateTime.now
    yield* repo.updateWebhook(id, { allow_from: ["10.0.0.0/8"], updated_at: now })
    const refusal = new NotVerified({ why: "address" })
    const request = { variables: { text: "a" }, received_at: now, wait: false }
    const refused = trigger.triggerRead(before, ({ allow_from }) =>
      allow_from === undefined ? Effect.succeed(request) : Effect.fail(refusal)
    )
    expect((yield* Effect.flip(refused))._tag).toBe("NotVerified")
    expect((yield* repo.runs({ webhook_id: id, limit: 9 })).data).toEqual([])
    yield* trigger.triggerRead(before, ({ allow_from }) =>
      allow_from === undefined ? Effect.fail(refusal) : Effect.succeed(request)
    )
    expect((yield* repo.runs({ webhook_id: id, limit: 9 })).data).toHaveLength(1)
  }
)

onEngine("triggers a webhook as it is now, also when it was read before its last change", function* () {
  const team = yield* makeTeam("deploy")
  const seen = yield* echo(team)
  const webhook = yield* makeWebhook(team)
  const repo = yield* Repo
  const before = yield* repo.webhookRow(webhook.id)
  const trigger = yield* Trigger
  const submit = (name: string) =>
    Effect.flatMap(DateTime.now, (received_at) =>
      trigger.trigger(before, { variables: { [name]: "hello" }, received_at, wait: true })
    )

  yield* repo.updateWebhook(webhook.id, { prompt_template: "New: {{text}}", updated_at: yield* DateTime.now })
  yield* submit("text")
  yield* repo.updateWebhook(webhook.id, { prompt_template: "Other: {{other}}", updated_at: yield* DateTime.now })
  yield* submit("other")
  expect(seen).toEqual(["New: hello", "Other: hello"])
  yield* repo.updateWebhook(webhook.id, { enabled: false, updated_at: yield* DateTime.now })
  expect((yield* Effect.flip(submit("other")))._tag).toBe("NotFound")
  expect((yield* Effect.flip(submit("missing")))._tag).toBe("NotFound")
})
