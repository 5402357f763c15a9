import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Bus } from "../../src/bus/Bus.ts"
import { Lane } from "../../src/engine/Lane.ts"
import * as LaneAudit from "../../src/engine/LaneAudit.ts"
import * as RepoMemory from "../../src/repo/RepoMemory.ts"
import { flightsOf, run, team } from "./LaneRuns.ts"

/** Two of the lane's three runs are with the broker, which has lost them as it seems; the third one waits. */
const laneWithTwoSent = () => {
  const lane = new Lane(team, () => true)
  lane.woken()
  lane.next()
  lane.read([run(0), run(1), run(2)])
  const flights = flightsOf(lane.next())
  lane.admitted(flights)
  lane.next()
  lane.published(flights, 0)
  return lane
}

/** The broker has no prompt of the team; it calls `onAsked` when it is asked for replies that wait. */
const auditWith = (onAsked: () => void) =>
  LaneAudit.make.pipe(
    Effect.provide(
      Layer.merge(
        RepoMemory.layer,
        Layer.mock(Bus, {
          durable: true,
          inspect: () => Effect.succeed({ isReplaced: false, consumers: 0, messages: 0 }),
          repliesWaiting: Effect.sync(() => {
            onAsked()
            return 1
          })
        })
      )
    )
  )

it.scoped("holds a lane back while its oldest run seems to be lost", () =>
  Effect.gen(function* () {
    const lane = laneWithTwoSent()
    const audit = yield* auditWith(() => {})
    for (let n = 0; n < 3; n++) expect(yield* audit.check(lane)).toBe(false)
    lane.ended(run(1).run_id)
    const next = flightsOf(lane.next())
    expect(next.map(({ run }) => run)).toEqual([run(2)])
    lane.admitted(next)
    expect(lane.next()).toBeUndefined()
  })
)

it.scoped("does not take the next run for the one that was looked at and has ended meanwhile", () =>
  Effect.gen(function* () {
    const lane = laneWithTwoSent()
    const audit = yield* auditWith(() => lane.ended(run(0).run_id))
    for (let n = 0; n < 3; n++) expect(yield* audit.check(lane)).toBe(false)
    expect(lane.flights.has(run(0).run_id)).toBe(false)
    const next = flightsOf(lane.next())
    expect(next.map(({ run }) => run)).toEqual([run(2)])
    lane.admitted(next)
    expect(lane.next()).toMatchObject({ _tag: "Publish", flights: [{ run: run(2) }] })
  })
)
