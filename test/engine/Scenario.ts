/** The engine on its ports for tests, and the steps that its tests are written in. */
import { DateTime, Effect, Layer, Queue } from "effect"
import { Bus, type Delivery, LeaderBus, type LeaderReply } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { makeWebhookId, type RunId } from "../../src/domain/Id.ts"
import type { AgentReport } from "../../src/domain/run/AgentReport.ts"
import type { Submitted } from "../../src/domain/run/Submitted.ts"
import { TeamName } from "../../src/domain/Team.ts"
import type { WebhookDraft } from "../../src/domain/webhook/Webhook.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { Renderer } from "../../src/engine/prompt/Renderer.ts"
import { Settings, type SettingsValues } from "../../src/engine/Settings.ts"
import { Limiter } from "../../src/engine/step/Limiter.ts"
import { Trigger } from "../../src/engine/trigger/Trigger.ts"
import { hashToken, makeToken, tokenHint } from "../../src/engine/verify/Token.ts"
import { Repo } from "../../src/repo/Repo.ts"
import { layerRepo } from "../../src/testing.ts"
import { on } from "../support/It.ts"
import { untilEffect } from "../support/Until.ts"

/** The ports in memory. */
export const ports = Layer.mergeAll(layerRepo, BusMemory.layer)

/** Everything but the ports, which a test may want to keep while the engine comes and goes. */
export const engine = (settings: Partial<SettingsValues> = {}, limiter = Limiter.layer) =>
  Engine.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(limiter, Renderer.layer)),
    Layer.provideMerge(Settings.layer(settings))
  )

export const engineInMemory = (settings: Partial<SettingsValues> = {}, limiter = Limiter.layer) =>
  engine(settings, limiter).pipe(Layer.provideMerge(ports))

/** Declares a test on an engine of its own, on ports in memory. */
export const onEngine = on(engineInMemory())
export const onEngineWith = (settings: Partial<SettingsValues>) => on(engineInMemory(settings))

/** Declares a test that starts its engines itself. */
export const onPorts = on(ports)

export const makeTeam = (name: string) =>
  Effect.gen(function* () {
    const team = TeamName.make(name)
    yield* (yield* Repo).createTeam(team, yield* DateTime.now)
    return team
  })

interface TriggerOptions {
  /** The idempotency key. */
  readonly key?: string
  readonly traceparent?: string
}

export const makeWebhook = (
  team: TeamName,
  more: Pick<
    WebhookDraft,
    | "timeout_seconds"
    | "max_work_seconds"
    | "max_concurrent"
    | "max_queued"
    | "when_team_stopped"
    | "queue_for_seconds"
    | "fence"
    | "approval"
    | "input"
    | "verification"
    | "coalesce"
    | "retries"
    | "template_language"
    | "thread_key"
    | "run_title"
    | "workspace_ref"
  > &
    Partial<Pick<WebhookDraft, "prompt_template">> = {}
) =>
  Effect.gen(function* () {
    const token = yield* makeToken
    const id = yield* makeWebhookId
    const now = yield* DateTime.now
    yield* (yield* Repo).createWebhook({
      id,
      name: `for ${team}`,
      team,
      prompt_template: "{{text}}",
      variables: ["text"],
      enabled: true,
      token_hash: hashToken(token),
      token_hint: tokenHint(token),
      created_at: now,
      updated_at: now,
      ...more
    })
    const trigger = (text: unknown, wait: boolean, { key, traceparent }: TriggerOptions = {}) =>
      Effect.gen(function* () {
        const trigger = yield* Trigger
        return yield* trigger.trigger(yield* trigger.authenticate(token), {
          variables: { text },
          received_at: yield* DateTime.now,
          wait,
          ...(traceparent !== undefined && { traceparent }),
          ...(key && { idempotency: { key, request_hash: new TextEncoder().encode(JSON.stringify(text)) } })
        })
      })
    return {
      id,
      /** Fire and forget. */
      submit: (text: unknown, options?: TriggerOptions) => Effect.map(trigger(text, false, options), runIdOf),
      /** Waits for the end of the run. */
      ask: (text: unknown, options?: TriggerOptions) => Effect.map(trigger(text, true, options), endOf)
    }
  })

export const sendMessage = (team: TeamName, text: string, options: { readonly thread_key?: string } = {}) =>
  Effect.gen(function* () {
    const trigger = yield* Trigger
    return runIdOf(yield* trigger.message(team, text, { received_at: yield* DateTime.now, wait: false, ...options }))
  })

const runIdOf = (submitted: Submitted) =>
  submitted._tag === "Accepted" ? submitted.run_id : unexpected("a run that was not waited for has ended")
const endOf = (submitted: Submitted) =>
  submitted._tag === "Ended" ? submitted.run : unexpected("a run that was waited for has not ended")
const unexpected = (what: string): never => {
  throw new Error(what)
}

/** A leader whose every step the test decides: `next` is what it was given, and it works until `answer` is called. */
export const lead = (team: TeamName) =>
  Effect.gen(function* () {
    const given = yield* Queue.unbounded<Delivery>()
    const answers = yield* Queue.unbounded<LeaderReply>()
    yield* (yield* LeaderBus).lead(team, (delivery) =>
      Effect.gen(function* () {
        yield* Queue.offer(given, delivery)
        yield* delivery.reply(yield* Queue.take(answers))
      })
    )
    return {
      next: Effect.map(Queue.take(given), (delivery) => ({ ...delivery, text: delivery.prompt.prompt })),
      idle: Effect.map(Queue.size(given), (size) => size === 0),
      answer: (response: string, report?: AgentReport) =>
        Queue.offer(answers, { _tag: "Answered", response, ...(report && { report }) }),
      fail: (message: string, report?: AgentReport) =>
        Queue.offer(answers, { _tag: "Failed", message, ...(report && { report }) }),
      limit: (message: string, until?: DateTime.Utc) =>
        Queue.offer(answers, { _tag: "Failed", message, limited: until === undefined ? {} : { until } })
    }
  })

/** A leader that answers with the prompt. */
export const echo = (team: TeamName) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    yield* (yield* LeaderBus).lead(team, ({ prompt, reply }) => {
      seen.push(prompt.prompt)
      return reply({ _tag: "Answered", response: `echo: ${prompt.prompt}` })
    })
    return seen
  })

/** How many prompts the bus holds for the team, not counting the one that its leader works on. */
export const waiting = (team: TeamName) =>
  Effect.flatMap(Bus, (bus) => Effect.map(bus.queue(team), ({ messages }) => messages))

export const statusOf = (id: RunId) => Effect.flatMap(Repo, (repo) => Effect.map(repo.run(id), ({ status }) => status))

/** How many slots are taken. */
export const inFlight = Effect.flatMap(Repo, (repo) =>
  Effect.map(repo.out, (runs) => runs.filter(({ webhook_id }) => webhook_id !== undefined).length)
)

/** Waits, without the test's clock moving, until the condition holds. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  untilEffect("what the test waits for has happened", condition)
