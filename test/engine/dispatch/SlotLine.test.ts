import { expect, it } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { RunId, WebhookId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { Lane } from "../../../src/engine/dispatch/Lane.ts"
import { Limiter } from "../../../src/engine/dispatch/Limiter.ts"
import { SlotLine } from "../../../src/engine/dispatch/SlotLine.ts"
import { Settings } from "../../../src/engine/Settings.ts"
import type { LaneRun } from "../../../src/repo/run/LaneStore.ts"

const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`

/** The only run of its team and webhook. */
const run = (n: number, max_concurrent?: number): LaneRun => ({
  run_id: RunId.make(id(n)),
  source: "webhook",
  webhook: { id: WebhookId.make(id(n)), name: "a webhook", ...(max_concurrent && { max_concurrent }) },
  team: TeamName.make(`team-${n}`),
  mode: "async",
  status: "queued",
  prompt: "Deploy",
  timeout_ms: 60_000,
  accepted_at: DateTime.unsafeMake(0)
})

it.effect("asks the lanes in line as long as a slot is free, and then only those with a limit of their own", () =>
  Effect.gen(function* () {
    const line = new SlotLine(yield* Limiter, { advance: () => {}, watch: () => () => {} })
    line.hold(run(0))
    const lanes = [run(1), run(2, 5), run(3)].map((head) => {
      const lane = new Lane(head.team, (run) => head.webhook?.max_concurrent === undefined && line.tryAcquire(run))
      lane.accepted(head, [])
      lane.next()
      line.update(lane)
      return lane
    })
    expect(line.lanes).toEqual(lanes)
    expect([...line.candidates()]).toEqual([lanes[1]])
    line.release(run(0))
    expect([...line.candidates()]).toEqual(lanes)
    const asked: Array<Lane> = []
    for (const lane of line.candidates()) {
      asked.push(lane)
      lane.next()
    }
    expect(asked).toEqual([lanes[0], lanes[1]])
  }).pipe(Effect.provide(Layer.provide(Limiter.layer, Settings.layer({ maxConcurrent: 1 }))))
)
