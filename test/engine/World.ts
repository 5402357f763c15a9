/** The engine on its memory layers, and words to tell stories about it in. */
import { Clock, Effect, Layer, Queue, Redacted } from "effect"
import { Bus, type Delivery, LeaderBus } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { makeWebhookId } from "../../src/domain/Id.ts"
import { TeamName } from "../../src/domain/Team.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { Limiter } from "../../src/engine/Limiter.ts"
import { Renderer } from "../../src/engine/Renderer.ts"
import { Settings, type SettingsValues } from "../../src/engine/Settings.ts"
import { hashToken, makeToken, tokenHint } from "../../src/engine/Token.ts"
import { Trigger } from "../../src/engine/Trigger.ts"
import * as RepoMemory from "../../src/repo/memory/RepoMemory.ts"
import { Repo } from "../../src/repo/Repo.ts"

export const rooms = Layer.mergeAll(RepoMemory.layer, BusMemory.layer)

/** Everything but the rows and the bus, which a story may want to keep while the engine comes and goes. */
export const engine = (settings: Partial<SettingsValues> = {}) =>
  Engine.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Limiter.layer, Renderer.layer)),
    Layer.provideMerge(Settings.layer(settings))
  )

export const world = (settings: Partial<SettingsValues> = {}) => engine(settings).pipe(Layer.provideMerge(rooms))

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

export const makeTeam = (name: string) =>
  Effect.gen(function* () {
    const team = TeamName.make(name)
    yield* (yield* Repo).createTeam(team, yield* now)
    return team
  })

export const makeWebhook = (
  team: TeamName,
  more: { readonly timeout_seconds?: number; readonly max_concurrent?: number } = {}
) =>
  Effect.gen(function* () {
    const token = yield* makeToken
    const id = yield* makeWebhookId
    yield* (yield* Repo).createWebhook({
      id,
      name: `for ${team}`,
      team,
      prompt_template: "{{text}}",
      variables: ["text"],
      enabled: true,
      token_hash: hashToken(token),
      token_hint: tokenHint(token),
      created_at: yield* now,
      ...more
    })
    const authenticate = Effect.flatMap(Trigger, (trigger) => trigger.authenticate(token))
    const request = (text: string, key?: string) =>
      Effect.map(Clock.currentTimeMillis, (received_at) => ({
        variables: { text },
        received_at,
        ...(key && { idempotency: { key, request_hash: new TextEncoder().encode(text) } })
      }))
    return {
      id,
      token: Redacted.value(token),
      submit: (text: string, key?: string) =>
        Effect.flatMap(Trigger, (trigger) =>
          Effect.flatMap(Effect.all([authenticate, request(text, key)]), (args) => trigger.submit(...args))
        ),
      ask: (text: string, key?: string) =>
        Effect.flatMap(Trigger, (trigger) =>
          Effect.flatMap(Effect.all([authenticate, request(text, key)]), (args) => trigger.ask(...args))
        )
    }
  })

/** A leader whose every step the story decides: `next` is what it was given, and it works until it is told an answer. */
export const lead = (team: TeamName) =>
  Effect.gen(function* () {
    const given = yield* Queue.unbounded<Delivery>()
    const answers = yield* Queue.unbounded<string>()
    yield* (yield* LeaderBus).lead(team, (delivery) =>
      Effect.gen(function* () {
        yield* given.offer(delivery)
        const response = yield* answers.take
        yield* delivery.reply({ _tag: "Answered", run_id: delivery.prompt.run_id, response })
      })
    )
    return {
      next: Effect.map(given.take, (delivery) => ({ ...delivery, text: delivery.prompt.prompt })),
      idle: Effect.map(given.size, (size) => size === 0),
      answer: (text: string) => answers.offer(text)
    }
  })

/** A leader that answers with what it is asked. */
export const echo = (team: TeamName) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    yield* (yield* LeaderBus).lead(team, ({ prompt, reply }) => {
      seen.push(prompt.prompt)
      return reply({ _tag: "Answered", run_id: prompt.run_id, response: `echo: ${prompt.prompt}` })
    })
    return seen
  })

/** How many prompts the bus holds for the team, not counting the one in the leader's hands. */
export const waiting = (team: TeamName) =>
  Effect.flatMap(Bus, (bus) => Effect.map(bus.queue(team), ({ messages }) => messages))

/** Waits, without time passing, until the condition holds; a story that goes wrong fails by the test's own timeout. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  Effect.repeat(Effect.zipLeft(condition, Effect.yieldNow()), { until: (holds) => holds })
