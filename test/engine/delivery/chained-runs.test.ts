import { Effect, Layer } from "effect"
import * as ChainedRuns from "../../../src/engine/delivery/ChainedRuns.ts"
import type { Message } from "../../../src/engine/delivery/kinds/Sender.ts"
import { Trigger } from "../../../src/engine/trigger/Trigger.ts"
import { team } from "../../repo/contract/fixtures.ts"
import { describe, expect, it } from "../../support/It.ts"

const found: any = { id: "second", team: "other", enabled: true, variables: [], input: "variables" }
const message = { id: "one", body: "{}", isTest: false, run: { run_id: "first", team: "ops" } } as unknown as Message
const teams = { from: team("ops"), to: team("other") }

/** Starts a run of a webhook that becomes `edited` after it was found. */
const startOf = (edited: object) =>
  Effect.flatMap(ChainedRuns.make, (start) => start(message, teams)).pipe(
    Effect.provide(
      Layer.mock(Trigger, {
        open: () => Effect.succeed(found),
        triggerRead: (webhook, read) =>
          Effect.map(read({ ...webhook, ...edited }), (request) => ({
            request,
            submitted: { _tag: "Accepted", run_id: "run" } as any
          }))
      })
    )
  )

describe("a webhook that is edited while a chain starts its run", () => {
  it.effect("starts none in another team, or once it is disabled", function* () {
    expect(yield* startOf({})).toMatchObject({ http_status: 202, started_run: "run" })
    expect(yield* startOf({ team: "third" })).toMatchObject({ http_status: 403, isFinal: true })
    expect(yield* startOf({ enabled: false })).toMatchObject({ http_status: 409, isBusy: true })
  })
})
