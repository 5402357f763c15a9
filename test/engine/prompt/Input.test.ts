import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { WebhookRow } from "../../../src/domain/webhook/Webhook.ts"
import * as Input from "../../../src/engine/prompt/Input.ts"
import { Trigger } from "../../../src/engine/trigger/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, makeTeam, makeWebhook, onEngine } from "../Scenario.ts"

onEngine("reads a request again when its webhook was edited, as the webhook takes it now", function* () {
  const repo = yield* Repo
  const trigger = yield* Trigger
  const team = yield* makeTeam("deploy")
  yield* echo(team)
  const { id } = yield* makeWebhook(team)
  const before = yield* repo.webhookRow(id)
  const now = yield* DateTime.now
  const change = { input: "payload", prompt_template: "{{payload.variables.text}}!" } as const
  yield* repo.updateWebhook(id, { ...change, variables: ["payload.variables.text"], updated_at: now })
  const reading = (text: string) => (webhook: Pick<WebhookRow, "input" | "verification">) =>
    Effect.map(
      Effect.fromResult(Input.read(webhook, { body: new TextEncoder().encode(text), headers: {}, search: "" })),
      (variables) => ({ variables, received_at: now, wait: false })
    )
  yield* trigger.triggerRead(before, reading('{"variables":{"text":"a","other":"b"}}'))
  const [run] = (yield* repo.runs({ webhook_id: id, limit: 9 })).data
  expect(run).toMatchObject({
    variables: { payload: { variables: { text: "a" } } },
    conversation: { prompt: "a!" }
  })
  const refused = trigger.triggerRead(before, reading('{"variables":{}}'))
  expect(yield* Effect.flip(refused)).toMatchObject({
    _tag: "MissingVariables",
    names: ["payload.variables.text"],
    of: "payload"
  })
})
