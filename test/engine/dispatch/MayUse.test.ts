import { expect, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { NotVerified } from "../../../src/domain/Errors.ts"
import { Trigger } from "../../../src/engine/accept/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, engineInMemory, makeTeam, makeWebhook } from "../Scenario.ts"

it.scoped(
  "asks a request again for what the webhook wants once that was edited, and refuses it by the webhook as it is",
  () =>
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
      const refused = trigger.trigger(before, {
        ...request,
        refusedBy: ({ allow_from }) => (allow_from === undefined ? undefined : refusal)
      })
      expect((yield* Effect.flip(refused))._tag).toBe("NotVerified")
      expect((yield* repo.runs({ webhook_id: id, limit: 9 })).data).toEqual([])
      yield* trigger.trigger(before, {
        ...request,
        refusedBy: ({ allow_from }) => (allow_from === undefined ? refusal : undefined)
      })
      expect((yield* repo.runs({ webhook_id: id, limit: 9 })).data).toHaveLength(1)
    }).pipe(Effect.provide(engineInMemory()))
)
