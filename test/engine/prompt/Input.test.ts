import { expect, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Trigger } from "../../../src/engine/accept/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, engineInMemory, makeTeam, makeWebhook } from "../Scenario.ts"

it.scoped("reads a request again for a webhook that was edited meanwhile, by what that takes now", () =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const trigger = yield* Trigger
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const { id } = yield* makeWebhook(team)
    const before = yield* repo.webhookRow(id)
    const now = yield* DateTime.now
    const change = { input: "payload", prompt_template: "{{payload.variables.text}}!" } as const
    yield* repo.updateWebhook(id, { ...change, variables: ["payload.variables.text"], updated_at: now })
    const incoming = (text: string) => ({ body: new TextEncoder().encode(text), headers: {}, search: "" })
    const request = { variables: { text: "a" }, received_at: now, wait: false }
    yield* trigger.trigger(before, { ...request, incoming: incoming('{"variables":{"text":"a","other":"b"}}') })
    const [run] = (yield* repo.runs({ webhook_id: id, limit: 9 })).data
    expect(run).toMatchObject({
      variables: { payload: { variables: { text: "a" } } },
      conversation: { prompt: "a!" }
    })
    const refused = trigger.trigger(before, { ...request, incoming: incoming('{"variables":{}}') })
    expect(yield* Effect.flip(refused)).toMatchObject({
      _tag: "MissingVariables",
      names: ["payload.variables.text"],
      of: "payload"
    })
  }).pipe(Effect.provide(engineInMemory()))
)
