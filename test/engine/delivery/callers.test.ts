import { expect, it } from "@effect/vitest"
import { DateTime, Effect, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Deliverer from "../../../src/engine/delivery/Deliverer.ts"
import { Outbox } from "../../../src/engine/delivery/Outbox.ts"
import type { DueDelivery } from "../../../src/repo/delivery/DeliveryStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { deliveriesOf, endRun, newDestination } from "../../repo/contract/delivery/fixtures.ts"
import { count, createWebhook, endOne, epoch, queueRun, success } from "../../repo/contract/fixtures.ts"
import { untilEffect } from "../../support/Until.ts"

it.effect("callers whose URLs never answer leave attempts for configured destinations", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(epoch)
    const [open, other] = [yield* createWebhook(), yield* createWebhook()]
    const urls = count(20).map((n) => `https://host-${n}.example.com/hooks/`)
    yield* Effect.forEach(urls, (url) => newDestination(open.id, { kind: "callback", url }))
    // As in the documented example, each run is a caller of its own.
    for (const url of urls) {
      for (const n of count(20)) {
        const run_id = yield* queueRun(open, { callback_url: `${url}${n}` })
        yield* endOne(run_id, success("Done"), 0)
      }
    }
    yield* newDestination(other.id)
    for (const n of count(10)) yield* endRun(other, 1 + n)
    const hanging = new Map<string, number>()
    const isOver = yield* Latch.make()
    const attempt = Effect.fnUntraced(function* ({ destination, id }: DueDelivery) {
      if (destination.kind === "callback") {
        hanging.set(destination.url, (hanging.get(destination.url) ?? 0) + 1)
        yield* isOver.await
      }
      return {
        ...{ id, destination_id: destination.id, isGone: false, next: "delivered" as const },
        attempt: { at: yield* DateTime.now, duration_ms: 1, http_status: 200 }
      }
    })
    yield* Layer.build(
      Layer.provide(Deliverer.layer, Layer.mock(Outbox, { attempt, faultOfTemplate: () => Effect.succeed(undefined) }))
    )
    yield* Effect.addFinalizer(() => isOver.open)
    yield* untilEffect(
      "the configured destination has all its deliveries",
      Effect.andThen(
        advance("1 seconds"),
        Effect.map(deliveriesOf(other.id), (all) => all.every(({ status }) => status === "delivered"))
      )
    )
    const attempts = [...hanging.values()]
    expect(attempts.reduce((sum, some) => sum + some, 0)).toBe(100)
    expect(Math.max(...attempts)).toBe(8)
  }).pipe(Effect.provide(layerRepo))
)
