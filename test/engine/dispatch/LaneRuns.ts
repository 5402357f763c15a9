/** Runs of one team, for lanes without an engine around them. */
import { RunId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import type { Flight } from "../../../src/engine/dispatch/Flights.ts"
import type { Step } from "../../../src/engine/dispatch/Lane.ts"
import type { LaneRun } from "../../../src/repo/run/LaneStore.ts"

export const team = TeamName.make("deploy")

export const run = (n: number): LaneRun => ({
  run_id: RunId.make(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`),
  source: "chat",
  team,
  mode: "async",
  status: "queued",
  prompt: `prompt ${n}`,
  timeout_ms: 60_000
})

export const flightsOf = (step: Step | undefined, begunAt = 0): ReadonlyArray<Flight> =>
  step?._tag === "Admit" ? step.runs.map((run) => ({ run, begunAt })) : []
