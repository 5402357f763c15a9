import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { Lane } from "../../../src/engine/dispatch/Lane.ts"
import * as LaneAudit from "../../../src/engine/dispatch/LaneAudit.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { flightsOf, run, team } from "./LaneRuns.ts"

/** The first ones of these runs, as many as a lane has in flight, are with the broker; the others wait. */
const laneWith = (...numbers: ReadonlyArray<number>) => {
  const lane = new Lane(team, () => true)
  lane.woken()
  lane.next()
  lane.read(numbers.map(run))
  const flights = flightsOf(lane.next())
  lane.admitted(flights)
  lane.next()
  lane.published(flights, 0)
  return lane
}

/** A broker that has no prompt of the team, and no leader; what it is offered. */
const lossy = () => ({ consumers: 0, messages: 0, repliesWaiting: 1, onAsked: () => {}, offered: [] as Array<RunId> })

const auditWith = (broker: ReturnType<typeof lossy>) =>
  LaneAudit.make(({ run_id }) => Effect.sync(() => broker.offered.push(run_id))).pipe(
    Effect.provide(
      Layer.merge(
        Layer.mock(RunStore, { ended: () => Effect.succeed({ runs: [], deleted: [] }) }),
        Layer.mock(Bus, {
          durable: true,
          inspect: () => Effect.sync(() => ({ isReplaced: false, ...broker })),
          repliesWaiting: Effect.sync(() => {
            broker.onAsked()
            return broker.repliesWaiting
          })
        })
      )
    )
  )

it.scoped("holds a lane back while its oldest run seems to be lost", () =>
  Effect.gen(function* () {
    const lane = laneWith(0, 1, 2)
    const audit = yield* auditWith(lossy())
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
    const lane = laneWith(0, 1, 2)
    const audit = yield* auditWith({ ...lossy(), onAsked: () => lane.ended(run(0).run_id) })
    for (let n = 0; n < 3; n++) expect(yield* audit.check(lane)).toBe(false)
    expect(lane.flights.has(run(0).run_id)).toBe(false)
    const next = flightsOf(lane.next())
    expect(next.map(({ run }) => run)).toEqual([run(2)])
    lane.admitted(next)
    expect(lane.next()).toMatchObject({ _tag: "Publish", flights: [{ run: run(2) }] })
  })
)

/** Checks a lane so many times; at which of them its oldest run was offered to its leader. */
const offersIn = Effect.fnUntraced(function* (
  audit: LaneAudit.LaneAudit,
  lane: Lane,
  broker: ReturnType<typeof lossy>,
  checks: number
) {
  const offeredAt: Array<number> = []
  for (let n = 0; n < checks; n++) {
    expect(yield* audit.check(lane)).toBe(false)
    if (broker.offered.splice(0).length > 0) offeredAt.push(n)
  }
  return offeredAt
})

it.scoped("offers the only prompt of a team to its leader again, less and less often", () =>
  Effect.gen(function* () {
    const lane = laneWith(0)
    const broker = { ...lossy(), consumers: 1, repliesWaiting: 0 }
    const audit = yield* auditWith(broker)
    expect(yield* offersIn(audit, lane, broker, 200)).toEqual([2, 4, 8, 16, 32, 64, 96, 128, 160, 192])
    // It was back in the queue: the next leader may have found nothing.
    broker.messages = 1
    expect(yield* offersIn(audit, lane, broker, 5)).toEqual([])
    broker.messages = 0
    expect(yield* offersIn(audit, lane, broker, 5)).toHaveLength(1)
    broker.consumers = 0
    broker.messages = 1
    expect(yield* offersIn(audit, lane, broker, 5)).toEqual([])
    broker.consumers = 1
    broker.messages = 0
    expect(yield* offersIn(audit, lane, broker, 5)).toHaveLength(1)
  })
)

it.scoped("offers nothing while another prompt waits or a reply does, and no cancelled run", () =>
  Effect.gen(function* () {
    const leader = { ...lossy(), consumers: 1, repliesWaiting: 0 }
    const [waiting, replied, cancelled] = [laneWith(0, 1), laneWith(2), laneWith(3)]
    const cases = [
      { lane: waiting, broker: { ...leader, messages: 1 } },
      { lane: replied, broker: { ...leader, repliesWaiting: 1 } },
      { lane: cancelled, broker: leader }
    ]
    cancelled.flights.unreleased(run(3).run_id)
    for (const { broker, lane } of cases) {
      expect(yield* offersIn(yield* auditWith(broker), lane, broker, 20)).toEqual([])
    }
  })
)
