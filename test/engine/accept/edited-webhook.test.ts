import { expect, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { NotVerified } from "../../../src/domain/Errors.ts"
import { Trigger } from "../../../src/engine/accept/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, engineInMemory, makeTeam, makeWebhook } from "../Scenario.ts"

it.scoped("checks a request again when its webhook was edited, and refuses it only by the webhook as it is now", () =>
  Effect.gen(function* () {
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
  }).pipe(Effect.provide(engineInMemory()))
)
