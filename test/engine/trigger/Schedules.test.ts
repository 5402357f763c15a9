import { DateTime, Effect, Exit, Layer, Logger, Scope } from "effect"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Webhooks } from "../../../src/engine/manage/Webhooks.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, on } from "../../support/It.ts"
import { echo, engine, makeTeam, onPorts, ports, until } from "../Scenario.ts"

/** Begins shortly before a minute, as each second of the clock costs some work. */
const soon = Layer.effectDiscard(advance("56 seconds")).pipe(Layer.provideMerge(ports))
const onEngine = on(engine().pipe(Layer.provideMerge(soon)))

const at = (minutes: number) => DateTime.formatIso(DateTime.makeUnsafe(minutes * 60_000))
/** The prompt of that minute. */
const digest = (minutes: number) => `digest of ${at(minutes)}`

const scheduled = (team: TeamName, more: object = {}) =>
  Effect.gen(function* () {
    const draft = { name: "digest", prompt_template: "digest of {{scheduled_at}}", schedule: "* * * * *" }
    const { webhook } = yield* (yield* Webhooks).create({ ...draft, team, ...more })
    return {
      id: webhook.id,
      edit: (change: object) => Effect.flatMap(Webhooks, ({ edit }) => edit(webhook.id, change)),
      next: Effect.flatMap(Repo, (repo) =>
        Effect.map(repo.webhook(webhook.id), ({ next_scheduled_at: next }) => next && DateTime.formatIso(next))
      )
    }
  })

const count = (seen: ReadonlyArray<string>, length: number) => until(Effect.sync(() => seen.length >= length))

onEngine("each time of a schedule starts one run, whose prompt has the time", function* () {
  const team = yield* makeTeam("ops")
  const seen = yield* echo(team)
  const webhook = yield* scheduled(team)
  expect(yield* webhook.next).toBe(at(1))
  yield* advance("3 seconds")
  expect(seen).toEqual([])
  yield* advance("3 seconds")
  yield* count(seen, 1)
  yield* advance("1 minute")
  yield* count(seen, 2)
  expect(seen).toEqual([digest(1), digest(2)])
  expect(yield* webhook.next).toBe(at(3))
})

onEngine("an edit of the schedule counts from then on, and another edit does not move its next time", function* () {
  const webhook = yield* scheduled(yield* makeTeam("ops"))
  yield* webhook.edit({ schedule: "30 9 * * * Europe/Berlin" })
  expect(yield* webhook.next).toBe("1970-01-01T08:30:00.000Z")
  yield* webhook.edit({ name: "another" })
  expect(yield* webhook.next).toBe("1970-01-01T08:30:00.000Z")
  yield* webhook.edit({ schedule: null })
  expect(yield* webhook.next).toBeUndefined()
})

onEngine("times that pass while the webhook is disabled start no run", function* () {
  const team = yield* makeTeam("ops")
  const seen = yield* echo(team)
  const webhook = yield* scheduled(team, { enabled: false })
  yield* advance("6 seconds")
  expect(yield* webhook.next).toBe(at(2))
  yield* webhook.edit({ enabled: true })
  yield* advance("1 minute")
  yield* count(seen, 1)
  expect(seen).toEqual([digest(2)])
})

onPorts("times that pass while no server runs start one run, and a repeated time starts none", function* () {
  const team = yield* makeTeam("ops")
  const seen = yield* echo(team)
  const first = yield* Scope.fork(yield* Effect.scope, "sequential")
  const inFirst = yield* Layer.buildWithScope(engine(), first)
  const webhook = yield* Effect.provide(scheduled(team), inFirst)
  yield* Scope.close(first, Exit.void)
  yield* advance("3 minutes")
  // Two at once.
  yield* Layer.build(engine())
  yield* Layer.build(Layer.fresh(engine()))
  yield* advance("3 seconds")
  yield* count(seen, 1)
  expect(yield* webhook.next).toBe(at(4))

  // As after a server that ended between the acceptance and this write.
  const repo = yield* Repo
  yield* repo.updateWebhook(webhook.id, {
    next_scheduled_at: DateTime.makeUnsafe(60_000),
    updated_at: yield* DateTime.now
  })
  yield* advance("3 seconds")
  expect(yield* webhook.next).toBe(at(4))
  yield* advance("1 minute")
  yield* count(seen, 2)
  expect(seen).toEqual([digest(1), digest(4)])
})

onEngine("what is refused for a moment is tried again until it starts", function* () {
  const team = yield* makeTeam("ops")
  const webhook = yield* scheduled(team)
  yield* advance("10 seconds")
  expect(yield* webhook.next).toBe(at(1))
  const seen = yield* echo(team)
  yield* advance("30 seconds")
  yield* count(seen, 1)
  expect(seen).toEqual([digest(1)])
  expect(yield* webhook.next).toBe(at(2))
})

const lines: Array<string> = []
on(
  engine().pipe(
    Layer.provideMerge(soon),
    Layer.provideMerge(
      Logger.layer([Logger.make(({ logLevel, message }) => logLevel === "Warn" && lines.push(String(message)))])
    )
  )
)("what the webhook refuses for good is logged, and its next time comes", function* () {
  const team = yield* makeTeam("ops")
  yield* echo(team)
  const webhook = yield* scheduled(team, { prompt_template: "{{text}}" })
  yield* advance("6 seconds")
  expect(lines).toEqual([expect.stringContaining("refused the request of its schedule")])
  expect(yield* webhook.next).toBe(at(2))
})
