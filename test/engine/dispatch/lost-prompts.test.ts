import { describe, expect, it } from "@effect/vitest"
import { Lane } from "../../../src/engine/dispatch/Lane.ts"
import { flightsOf, laneWith, publishAll, run, runs, team } from "./LaneRuns.ts"

describe("Lane", () => {
  it("sends everything that is in flight again, in order, when its queue was replaced", () => {
    const lane = laneWith(runs(0, 2))
    lane.admitted(flightsOf(lane.next()))
    expect(publishAll(lane)).toEqual(["prompt 0", "prompt 1"])
    lane.ended(run(0).run_id)
    lane.woken()
    expect(lane.next()).toEqual({ _tag: "Read" })
    lane.read([run(2)])
    lane.admitted(flightsOf(lane.next()))
    expect(lane.next()).toMatchObject({ flights: [{ run: run(2) }], isBehind: true })
    lane.flights.queueReplaced()
    expect(publishAll(lane)).toEqual(["prompt 1", "prompt 2"])
  })

  it("sends again what a term before may not have sent, before the rest of its lane", () => {
    const lane = new Lane(team, () => true)
    lane.flights.addSent({ run: run(0), begunAt: 0 })
    lane.flights.add({ run: run(1), begunAt: 0 })
    lane.woken()
    expect(publishAll(lane)).toEqual(["prompt 1"])
    expect(lane.flights.size).toBe(2)
  })

  /** A lane of which two runs are with the broker, and a third waits to be published. */
  const laneWithTwoSent = () => {
    const lane = laneWith(runs(0, 3))
    lane.admitted(flightsOf(lane.next()))
    publishAll(lane)
    return lane
  }

  const answer = { beganAt: 0, doneAt: 1_000 }

  it("publishes nothing while it is held, or its oldest run seems to be lost", () => {
    const lane = laneWithTwoSent()
    lane.flights.hold()
    lane.ended(run(1).run_id, undefined)
    lane.admitted(flightsOf(lane.next()))
    expect(lane.next()).toBeUndefined()
    lane.flights.release(run(0).run_id)
    expect(lane.next()).toBeUndefined()
    lane.ended(run(0).run_id, answer)
    expect(publishAll(lane)).toEqual(["prompt 2"])
  })

  it("publishes what waits although a run seems to be lost that has ended, or that is to be sent itself", () => {
    const lane = laneWithTwoSent()
    lane.flights.hold()
    lane.ended(run(1).run_id, undefined)
    lane.admitted(flightsOf(lane.next()))
    lane.ended(run(0).run_id, answer)
    lane.flights.release(run(0).run_id)
    expect(publishAll(lane)).toEqual(["prompt 2"])
    lane.flights.hold()
    lane.flights.sendAgain()
    lane.flights.release(run(2).run_id)
    expect(publishAll(lane)).toEqual(["prompt 2"])
  })

  it("shows when a later run was answered before the oldest, and sends that one again before the next", () => {
    const lane = laneWithTwoSent()
    lane.ended(run(1).run_id, answer)
    expect(lane.flights.isPassedOver).toBe(true)
    lane.flights.release(run(0).run_id)
    lane.admitted(flightsOf(lane.next()))
    expect(lane.next()).toBeUndefined()
    lane.flights.sendAgain()
    expect(publishAll(lane)).toEqual(["prompt 0", "prompt 2"])
    lane.ended(run(2).run_id, answer)
    // Sent twice: the first copies may have been answered.
    expect(lane.flights.isPassedOver).toBe(false)
  })

  it("does not count as passed over what a run that timed out was before", () => {
    const lane = laneWithTwoSent()
    lane.ended(run(1).run_id)
    expect(lane.flights.isPassedOver).toBe(false)
  })
})
