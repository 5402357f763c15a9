import { expect, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Webhook as StandardWebhook } from "standardwebhooks"
import * as Attempts from "../../../src/domain/delivery/Attempts.ts"
import type { DestinationRow } from "../../../src/domain/delivery/Destination.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { makeDestinationId } from "../../../src/domain/Id.ts"
import * as Deliverer from "../../../src/engine/delivery/Deliverer.ts"
import { Outbox } from "../../../src/engine/delivery/Outbox.ts"
import { NoAnswer, type Post, Poster } from "../../../src/engine/egress/Poster.ts"
import { Evaluator } from "../../../src/engine/prompt/Evaluator.ts"
import { Trigger } from "../../../src/engine/trigger/Trigger.ts"
import { makeKey, SecretKeys, seal } from "../../../src/engine/verify/SecretKeys.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { claim, deliveriesOf, endRun, newDestination } from "../../repo/contract/delivery/fixtures.ts"
import { at, createWebhook, epoch, queueRun } from "../../repo/contract/fixtures.ts"
import { untilEffect } from "../../support/Until.ts"

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** A webhook with a destination, and what sends to it with `post`. */
const withOutbox = (post: Poster["Service"]["post"], more: Partial<DestinationRow> = {}, evaluator = Evaluator.layer) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(epoch)
    const key = yield* makeKey
    const webhook = yield* createWebhook()
    const id = yield* makeDestinationId
    yield* newDestination(webhook.id, { id, sealed_secret: seal(key, Redacted.make(secret), id), ...more })
    const services = Layer.mergeAll(
      evaluator,
      Layer.succeed(Poster, { post }),
      SecretKeys.layer([key]),
      Layer.mock(Trigger, {})
    )
    const outbox = yield* Effect.provide(Outbox, Layer.provide(Outbox.layer, services))
    return { destination: Effect.flatMap(Repo, (repo) => repo.destinationRow(webhook.id, id)), outbox, webhook }
  })

/** A second passes at a time, until it holds. */
const asTimePasses = <A, E, R>(what: string, check: Effect.Effect<A | undefined | false, E, R>) =>
  untilEffect(what, Effect.andThen(advance("1 seconds"), check))

it.effect("a delivery is attempted by the whole schedule, under one id; then it has failed", () =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const posts: Array<Post> = []
    const { destination, outbox, webhook } = yield* withOutbox((post) => {
      posts.push(post)
      return new NoAnswer({ reason: "the connection failed" })
    })
    /** Makes the attempts that are due then, as a server does. */
    const attemptAt = (time: DateTime.Utc) =>
      Effect.gen(function* () {
        const now = Math.ceil(DateTime.toEpochMillis(time))
        yield* TestClock.setTime(now)
        const due = yield* claim(now - epoch)
        const results = yield* Effect.forEach(due, outbox.attempt)
        yield* repo.recordAttempts(results, DateTime.subtractDuration(time, Attempts.failsFor))
        return (yield* deliveriesOf(webhook.id))[0]!
      })
    yield* endRun(webhook, 0)
    let delivery = yield* attemptAt(at(0))
    for (const delay of Attempts.delays.slice(1)) {
      const [due, made] = [delivery.next_attempt_at!, posts.length]
      expect(delivery.status).toBe("pending")
      const pause = Duration.toMillis(DateTime.distance(delivery.attempts.at(-1)!.at, due))
      expect(pause).toBeGreaterThanOrEqual(Duration.toMillis(delay))
      expect(pause).toBeLessThanOrEqual(Duration.toMillis(delay) * 1.1 + 1)
      yield* attemptAt(DateTime.subtract(due, { milliseconds: 1 }))
      expect(posts).toHaveLength(made)
      delivery = yield* attemptAt(due)
      expect(posts).toHaveLength(made + 1)
    }
    expect(delivery).toMatchObject({ status: "failed", finished_at: delivery.attempts[7]!.at })
    expect(new Set(posts.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([delivery.id]))
    expect(new Set(posts.map(({ headers }) => headers["webhook-signature"])).size).toBe(8)
    const isSigned = ({ body, headers }: Post) => {
      const sentAt = new Date(Number(headers["webhook-timestamp"]) * 1000)
      return new StandardWebhook(secret).sign(delivery.id, sentAt, String(body)) === headers["webhook-signature"]
    }
    expect(posts.every(isSigned)).toBe(true)

    const { failing_since } = yield* destination
    expect(failing_since).toEqual(delivery.attempts[0]!.at)
    yield* endRun(webhook, 1)
    const fiveDaysLater = DateTime.addDuration(failing_since!, Attempts.failsFor)
    yield* attemptAt(DateTime.add(fiveDaysLater, { milliseconds: 1 }))
    expect(yield* destination).toMatchObject({ enabled: true, paused: true, disabled_reason: "failing" })
  }).pipe(Effect.provide(layerRepo))
)

it.effect("a server that stops gives back what it could not end", () =>
  Effect.gen(function* () {
    let posted = 0
    const { outbox, webhook } = yield* withOutbox(() => {
      posted += 1
      return Effect.never
    })
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    yield* Layer.buildWithScope(Layer.provide(Deliverer.layer, Layer.succeed(Outbox, outbox)), scope)
    yield* endRun(webhook, 0)
    yield* asTimePasses(
      "the attempt has begun",
      Effect.sync(() => posted === 1)
    )
    expect(yield* claim(10_000)).toEqual([])
    const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* asTimePasses(
      "the server has stopped",
      Effect.sync(() => stopped.pollUnsafe() !== undefined)
    )
    expect((yield* claim(10_000)).map(({ made }) => made)).toEqual([0])
  }).pipe(Effect.provide(layerRepo))
)

it("the pause of a failing destination doubles, from 5 seconds to 5 minutes, or as long as it asks for", () => {
  const pause = (seconds: number, retryAfter: Duration.Input = 0) => {
    const now = at(seconds * 1000)
    const until = Attempts.pausedUntil(at(0), now, Duration.fromInputUnsafe(retryAfter))
    return Duration.toSeconds(DateTime.distance(now, until))
  }
  expect([0, 5, 10, 20, 299, 301, 90_000].map((seconds) => pause(seconds))).toEqual([5, 5, 10, 20, 299, 300, 300])
  expect([pause(0, "1 second"), pause(0, "1 hour"), pause(0, "2 days")]).toEqual([5, 3_600, 86_400])
})

it.effect("a delivery whose template gets no CPU time now is tried again", () =>
  Effect.gen(function* () {
    const busy = new Unavailable({ what: "server", detail: "no CPU time" })
    const evaluator = Layer.succeed(Evaluator, {
      evaluate: () => Effect.fail(busy),
      evaluateNow: () => undefined,
      charge: () => {},
      refusalOf: () => busy
    })
    const template = { body: "template", template: "{{ run.response }}" } as const
    const { outbox, webhook } = yield* withOutbox(() => Effect.die("nothing is sent"), template, evaluator)
    yield* endRun(webhook, 0)
    yield* advance("1 seconds")
    const [due] = yield* claim(1_000)
    const { attempt, next } = yield* outbox.attempt(due!)
    expect(attempt.error).toBe("the template could not be filled in: no CPU time")
    expect(next).toMatchObject({ next_attempt_at: expect.anything() })
  }).pipe(Effect.provide(layerRepo))
)

it.effect("buttons in Slack are removed when Slack has time again, and stay on a message that cannot be changed", () =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const answers = [
      { text: '{"ok":true,"channel":"C0123456789","ts":"1700000000.1"}' },
      { http_status: 429, retryAfter: Duration.minutes(2), text: "" },
      { text: '{"ok":false,"error":"ratelimited"}' },
      { text: '{"ok":false,"error":"cant_update_message"}' }
    ]
    const posts: Array<Post> = []
    const { destination, outbox, webhook } = yield* withOutbox(
      (post) => {
        posts.push(post)
        return Effect.succeed({ http_status: 200, answer: "", ...answers[posts.length - 1]! })
      },
      { kind: "slack-message", url: "https://slack.com/api", target: "C0123456789", events: ["run.awaiting_approval"] }
    )
    yield* createWebhook({ input: "payload", verification: { preset: "slack" } })
    const run_id = yield* queueRun(webhook, { hold: { for: "approval", until: at(900_000) } })
    yield* repo.deliverEarly(at(0))
    const attempt = Effect.fnUntraced(function* (ms: number) {
      yield* TestClock.setTime(epoch + ms)
      const results = yield* Effect.forEach(yield* claim(ms), outbox.attempt)
      yield* repo.recordAttempts(results, at(0))
      return (yield* deliveriesOf(webhook.id))[0]!
    })
    expect((yield* attempt(1_000)).status).toBe("delivered")
    yield* repo.decide(run_id, { approves: false, at: at(2_000), by: "Ann" })
    yield* repo.endButtons(at(-1), at(3_000))
    const limited = yield* attempt(3_000)
    expect(limited.next_attempt_at!.epochMilliseconds).toBeGreaterThanOrEqual(epoch + 123_000)
    expect((yield* destination).paused_until).toEqual(at(123_000))
    yield* attempt(122_000)
    expect(posts).toHaveLength(2)
    const again = yield* attempt(limited.next_attempt_at!.epochMilliseconds - epoch)
    expect(again.status).toBe("pending")
    const last = yield* attempt(again.next_attempt_at!.epochMilliseconds - epoch)
    expect(last).toMatchObject({ status: "delivered" })
    expect(last.attempts.at(-1)!.error).toBe("Slack refused it: cant_update_message")
    expect(posts.map(({ url }) => url.split("/").at(-1))).toEqual(["chat.postMessage", ...Array(3).fill("chat.update")])
    expect((yield* repo.run(run_id)).delivery_failed).toBeUndefined()
    expect(yield* repo.endButtons(at(-1), at(900_000))).toBe(0)
  }).pipe(Effect.provide(layerRepo))
)
