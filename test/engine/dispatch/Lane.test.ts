import { describe, expect, it } from "@effect/vitest"
import { DateTime } from "effect"
import { WebhookId } from "../../../src/domain/Id.ts"
import { Lane, readAhead } from "../../../src/engine/dispatch/Lane.ts"
import type { LaneRun } from "../../../src/repo/run/LaneStore.ts"
import { flightsOf, laneWith, publishAll, run, runs, team } from "./LaneRuns.ts"

describe("Lane", () => {
  it("does nothing until it is woken, and reads again only when there may be more", () => {
    const lane = new Lane(team, () => true)
    expect(lane.next()).toBeUndefined()
    lane.woken()
    expect(lane.next()).toEqual({ _tag: "Read" })
    expect(lane.next()).toBeUndefined()
    lane.read([])
    expect(lane.next()).toBeUndefined()
    expect(lane.isIdle).toBe(true)
  })

  it("reads again what was not admitted, before anything behind it", () => {
    const lane = laneWith(runs(0, 5))
    const flights = flightsOf(lane.next())
    expect(flights).toHaveLength(2)
    // As of a team that was paused meanwhile.
    lane.admitted([])
    expect(lane.reserve(run(9))).toBe(false)
    expect(lane.next()).toEqual({ _tag: "Read" })
    lane.read([])
    expect(lane.next()).toBeUndefined()
    expect(lane.isIdle).toBe(true)
  })

  it("admits a run that this process accepted without reading it, behind those that it knows", () => {
    const lane = laneWith(runs(0, 3))
    const flights = flightsOf(lane.next())
    // Two are about to be in flight, and one waits.
    lane.accepted(run(3), [run(0).run_id, run(2).run_id])
    lane.accepted(run(4), [run(2).run_id, run(3).run_id])
    lane.admitted(flights)
    publishAll(lane)
    for (const { run } of flights) lane.ended(run.run_id)
    const next = flightsOf(lane.next())
    expect(next.map(({ run }) => run)).toEqual([run(2), run(3)])
    lane.accepted(run(5), [run(3).run_id, run(4).run_id])
    lane.admitted(next)
    publishAll(lane)
    for (const { run } of next) lane.ended(run.run_id)
    expect(flightsOf(lane.next()).map(({ run }) => run)).toEqual([run(4), run(5)])
  })

  it("reads what waits when one that it does not know stands before a run that this process accepted", () => {
    for (const ahead of [[run(0).run_id], undefined]) {
      const lane = new Lane(team, () => true)
      lane.accepted(run(1), ahead)
      expect(lane.next()).toEqual({ _tag: "Read" })
      // What is accepted meanwhile may be missing from what is being read.
      lane.accepted(run(2), [])
      lane.read([])
      expect(lane.next()).toEqual({ _tag: "Read" })
    }
  })

  it("has a run once that it had read before it was known to be accepted", () => {
    const lane = laneWith(runs(0, 3))
    const flights = flightsOf(lane.next())
    for (const [n, ahead] of [[], [run(0).run_id], [run(0).run_id, run(1).run_id]].entries())
      lane.accepted(run(n), ahead)
    lane.admitted(flights)
    lane.accepted(run(0), [])
    publishAll(lane)
    for (const { run } of flights) lane.ended(run.run_id)
    expect(flightsOf(lane.next()).map(({ run }) => run)).toEqual([run(2)])
  })

  it("keeps no more accepted runs than it reads ahead", () => {
    const lane = new Lane(team, () => false)
    for (const accepted of runs(0, readAhead + 1)) lane.accepted(accepted, [])
    for (const accepted of runs(0, readAhead)) lane.ended(accepted.run_id)
    expect(lane.next()).toEqual({ _tag: "Read" })
  })

  it("publishes a run of a thread, and those behind it, when the earlier runs of the thread have ended", () => {
    const lane = new Lane(team, () => true)
    const of = (n: number, thread_key: string) => ({ ...run(n), thread_key })
    const read = [of(0, "a"), run(1), of(2, "b"), of(3, "a"), of(4, "c"), of(5, "b")]
    lane.admitted(read.map((run) => ({ run, begunAt: 0 })))
    expect(publishAll(lane)).toEqual(["prompt 0", "prompt 1", "prompt 2"])
    expect(lane.flights.sent).toEqual({ head: run(0).run_id, count: 3 })
    expect(lane.flights.notSent(10_000)).toEqual([3, 4, 5].map((n) => run(n).run_id))
    lane.ended(run(2).run_id)
    expect(publishAll(lane)).toEqual([])
    lane.ended(run(0).run_id)
    expect(publishAll(lane)).toEqual(["prompt 3", "prompt 4", "prompt 5"])
    for (const id of lane.flights.ids) lane.ended(id)
    expect(lane.isIdle).toBe(true)
  })

  it("publishes the runs of a webhook with a budget of cost one by one, also beside those of others", () => {
    const lane = new Lane(team, () => true)
    const of = (n: number, name: string, max_cost_per_day?: number): LaneRun => ({
      ...run(n),
      webhook: { id: WebhookId.make(name), name, ...(max_cost_per_day !== undefined && { max_cost_per_day }) }
    })
    const [limited, other] = [run(100).run_id, run(101).run_id]
    const read = [of(0, limited, 5), of(1, other), of(2, other), of(3, limited, 5), of(4, limited, 5), of(5, other)]
    lane.admitted(read.map((run) => ({ run, begunAt: 0 })))
    expect(publishAll(lane)).toEqual(["prompt 0", "prompt 1", "prompt 2"])
    lane.ended(run(1).run_id)
    expect(publishAll(lane)).toEqual([])
    lane.ended(run(0).run_id)
    expect(publishAll(lane)).toEqual(["prompt 3"])
    lane.ended(run(3).run_id)
    expect(publishAll(lane)).toEqual(["prompt 4", "prompt 5"])
  })

  it("forgets a run that ends while it waits for its thread", () => {
    const lane = new Lane(team, () => true)
    const read = [run(0), run(1), run(2)].map((run) => ({ ...run, thread_key: "a" }))
    lane.admitted(read.map((run) => ({ run, begunAt: 0 })))
    expect(publishAll(lane)).toEqual(["prompt 0"])
    lane.ended(run(1).run_id)
    expect(lane.flights.sent).toEqual({ head: run(0).run_id, count: 1 })
    lane.ended(run(0).run_id)
    expect(publishAll(lane)).toEqual(["prompt 2"])
  })

  it("publishes a thread's runs one by one when they are sent again", () => {
    const lane = new Lane(team, () => true)
    const read = [run(0), run(1)].map((run) => ({ ...run, thread_key: "a" }))
    lane.admitted(read.map((run) => ({ run, begunAt: 0 })))
    expect(publishAll(lane)).toEqual(["prompt 0"])
    lane.flights.sendAgain()
    expect(publishAll(lane)).toEqual(["prompt 0"])
    lane.ended(run(0).run_id)
    expect(publishAll(lane)).toEqual(["prompt 1"])
  })

  it("reads and admits nothing while a run is being accepted, which stands before the others", () => {
    const lane = new Lane(team, () => true)
    expect(lane.reserve(run(0))).toBe(true)
    lane.woken()
    expect(lane.next()).toBeUndefined()
    expect(lane.reserve(run(1))).toBe(false)
    lane.reservationEnded({ run: run(0), begunAt: 0 })
    expect(lane.next()).toMatchObject({ _tag: "Publish", flights: [{ run: run(0) }] })
    expect(lane.next()).toEqual({ _tag: "Read" })
  })

  it("keeps two runs in flight for a team whose runs take long", () => {
    const lane = laneWith(runs(0, 5))
    const admit = lane.next()
    expect(flightsOf(admit).map(({ run }) => run.prompt)).toEqual(["prompt 0", "prompt 1"])
    lane.admitted(flightsOf(admit))
    expect(publishAll(lane)).toEqual(["prompt 0", "prompt 1"])
    expect(lane.next()).toBeUndefined()
    lane.ended(run(0).run_id)
    expect(flightsOf(lane.next()).map(({ run }) => run.prompt)).toEqual(["prompt 2"])
  })

  it("keeps more in flight when runs are shorter than it takes to hand them over, and two again when they get long", () => {
    const lane = laneWith(runs(0, readAhead))
    let now = 0
    const handOver = 10
    /** Hands over what the lane wants to send, then lets the team end everything in flight, each in `work`. */
    const round = (work: number) => {
      for (let step = lane.next(); step !== undefined; step = lane.next()) {
        if (step._tag === "Read") lane.read(runs(now, readAhead))
        else if (step._tag === "Admit") lane.admitted(flightsOf(step, now))
        else if (step._tag === "Publish") lane.published(step.flights, now + handOver)
      }
      now += handOver
      for (const id of lane.flights.ids) {
        const beganAt = now
        now += work
        lane.ended(id, { beganAt, doneAt: now })
      }
    }
    for (let n = 0; n < 6; n++) round(1)
    expect(lane.target).toBe(21)
    for (let n = 0; n < 6; n++) round(1_000)
    expect(lane.target).toBe(2)
  })

  it("publishes one group at a time, in order, and says which is behind others that the broker has", () => {
    const lane = laneWith(runs(0, 2))
    const [first, second] = flightsOf(lane.next())
    lane.admitted([first!, second!])
    expect(lane.next()).toEqual({ _tag: "Publish", flights: [first, second], isBehind: false })
    expect(lane.next()).toBeUndefined()
    lane.published([first!, second!], 0)
    lane.ended(run(0).run_id)
    lane.woken()
    expect(lane.next()).toEqual({ _tag: "Read" })
    lane.read(runs(2, 1))
    const [third] = flightsOf(lane.next())
    lane.admitted([third!])
    expect(lane.next()).toEqual({ _tag: "Publish", flights: [third], isBehind: true })
  })

  it("waits with its head for a slot, and lets no run behind it pass", () => {
    let free = false
    const lane = laneWith(runs(0, 3), ({ prompt }) => free || prompt !== "prompt 0")
    expect(lane.next()).toBeUndefined()
    expect(lane.blockedHead).toEqual(run(0))
    free = true
    expect(flightsOf(lane.next()).map(({ run }) => run.prompt)).toEqual(["prompt 0", "prompt 1"])
    expect(lane.blockedHead).toBeUndefined()
  })

  it("passes over a head that ends while it waits for a slot", () => {
    const lane = laneWith(runs(0, 2), ({ prompt }) => prompt !== "prompt 0")
    expect(lane.next()).toBeUndefined()
    expect(lane.ended(run(0).run_id)).toBeUndefined()
    expect(flightsOf(lane.next()).map(({ run }) => run.prompt)).toEqual(["prompt 1"])
  })

  it("passes over runs that were not admitted", () => {
    const lane = laneWith(runs(0, 3))
    lane.admitted(flightsOf(lane.next()).slice(1))
    expect(publishAll(lane)).toEqual(["prompt 1"])
  })

  it("reads again what it had read ahead once that has changed", () => {
    const lane = laneWith(runs(0, 5))
    lane.admitted(flightsOf(lane.next()))
    expect(publishAll(lane)).toEqual(["prompt 0", "prompt 1"])
    lane.changed()
    expect(lane.next()).toEqual({ _tag: "Read" })
  })

  it("asks for a leader before it admits what waits for one, and again once it is woken", () => {
    const waiting = runs(0, 3).map((run, n) => (n === 0 ? run : { ...run, deadline_at: DateTime.unsafeMake(0) }))
    const lane = laneWith(waiting)
    // The first waits for none, so it goes first.
    const admit = lane.next()
    expect(flightsOf(admit).map(({ run }) => run.prompt)).toEqual(["prompt 0"])
    expect(lane.next()).toBeUndefined()
    lane.admitted(flightsOf(admit))
    expect(lane.next()).toMatchObject({ _tag: "Publish" })
    expect(lane.next()).toEqual({ _tag: "AskForLeader" })
    expect(lane.next()).toBeUndefined()
    lane.askedForLeader(false)
    expect(lane.isStopped).toBe(true)
    expect(lane.next()).toBeUndefined()
    lane.woken()
    expect(lane.next()).toEqual({ _tag: "AskForLeader" })
    lane.askedForLeader(true)
    expect(lane.isStopped).toBe(false)
    expect(flightsOf(lane.next()).map(({ run }) => run.prompt)).toEqual(["prompt 1"])
  })

  it("reads on after a full page", () => {
    const lane = laneWith(runs(0, readAhead))
    const prompts: Array<string> = []
    for (let step = lane.next(); step !== undefined && step._tag !== "Read"; step = lane.next()) {
      if (step._tag === "Admit") lane.admitted(flightsOf(step))
      else if (step._tag === "Publish") {
        prompts.push(...step.flights.map(({ run }) => run.prompt))
        lane.published(step.flights, 0)
        for (const { run } of step.flights) lane.ended(run.run_id)
      }
    }
    expect(prompts).toEqual(runs(0, readAhead).map(({ prompt }) => prompt))
  })
})
