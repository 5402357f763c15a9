/** Runs of one team, and lanes without an engine around them. */
import { expect } from "@effect/vitest"
import { DateTime } from "effect"
import { RunId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import type { Flight } from "../../../src/engine/dispatch/Flights.ts"
import { Lane, type Step } from "../../../src/engine/dispatch/Lane.ts"
import type { LaneRun } from "../../../src/repo/run/LaneStore.ts"

export const team = TeamName.make("deploy")

export const run = (n: number): LaneRun => ({
  run_id: RunId.make(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`),
  source: "chat",
  team,
  mode: "async",
  status: "queued",
  prompt: `prompt ${n}`,
  timeout_ms: 60_000,
  accepted_at: DateTime.unsafeMake(0)
})

export const flightsOf = (step: Step | undefined, begunAt = 0): ReadonlyArray<Flight> =>
  step?._tag === "Admit" ? step.runs.map((run) => ({ run, begunAt })) : []

export const runs = (from: number, count: number) => Array.from({ length: count }, (_, n) => run(from + n))

/** A lane that was woken and has read these runs; slots are free as long as `isFree` says so. */
export const laneWith = (read: ReadonlyArray<LaneRun>, isFree: (run: LaneRun) => boolean = () => true) => {
  const lane = new Lane(team, isFree)
  lane.woken()
  expect(lane.next()).toEqual({ _tag: "Read" })
  lane.read(read)
  return lane
}

/** Publishes all that is unsent, and gives the prompts in the order in which they were published. */
export const publishAll = (lane: Lane): ReadonlyArray<string> => {
  const published: Array<string> = []
  for (let step = lane.next(); step?._tag === "Publish"; step = lane.next()) {
    published.push(...step.flights.map(({ run }) => run.prompt))
    lane.published(step.flights, 0)
  }
  return published
}
