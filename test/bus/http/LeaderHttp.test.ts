import { HttpApi, HttpLayerRouter } from "@effect/platform"
import { describe } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { Leading } from "../../../src/api/Leading.ts"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../../src/bus/amqp/LeaderAmqp.ts"
import { Bus, type LeaderBus, type Reply, type ReplyChecks } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import * as LeaderHttp from "../../../src/bus/http/LeaderHttp.ts"
import { makeInbox } from "../../../src/bus/Inbox.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import type { Run } from "../../../src/domain/run/Run.ts"
import { LeaderKeys } from "../../../src/engine/access/LeaderKeys.ts"
import { HttpLeaders } from "../../../src/engine/leaders/HttpLeaders.ts"
import { Correlation } from "../../../src/engine/outcome/Correlation.ts"
import { Outcomes } from "../../../src/engine/outcome/Outcomes.ts"
import { ReplyRecorder } from "../../../src/engine/outcome/ReplyRecorder.ts"
import { ProgressReports } from "../../../src/engine/progress/ProgressReports.ts"
import { Shutdown } from "../../../src/engine/Shutdown.ts"
import { Steps } from "../../../src/engine/step/Steps.ts"
import * as LeaderKeyCheck from "../../../src/http/leaders/LeaderKeyCheck.ts"
import * as LeadingHandlers from "../../../src/http/leaders/LeadingHandlers.ts"
import { TeamStore } from "../../../src/repo/manage/TeamStore.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { listening, listeningPort } from "../../http/Server.ts"
import { at } from "../../repo/contract/fixtures.ts"
import { freshVhost } from "../../support/fresh.ts"
import { contract } from "../contract/BusContract.ts"
import { byRunId, team } from "../contract/support.ts"

/** Only what is called in these tests. */
const partly = <I, S>(tag: Context.Tag<I, S>, methods: Partial<NoInfer<S>>) => Layer.succeed(tag, methods as S)

/** A server takes what leaders reply, and has handled it when it is recorded: here, in a store for the test's `consume`. */
class Received extends Context.Tag("test/Received")<Received, ReturnType<typeof makeReceived>>() {}

const makeReceived = () => {
  const inbox = makeInbox()
  const observers: Array<NonNullable<ReplyChecks["progress"]>> = []
  const ended = new Set<RunId>()
  const begun = new Set<RunId>()
  const cancelled = new Set<RunId>()
  const end = (replies: ReadonlyArray<Reply>) => {
    for (const { _tag, run_id } of replies) if (_tag !== "Started") ended.add(run_id)
  }
  return {
    inbox,
    observers,
    end,
    cancelled,
    /** All runs that are on the bus are there. */
    runs: partly(RunStore, {
      // A cancelled run that a leader has taken is unreleased until the leader has replied.
      ended: (ids) =>
        Effect.sync(() => ({
          runs: ids
            .filter((id) => cancelled.has(id) && begun.has(id) && !ended.has(id))
            .map((run_id) => ({ run_id, stop_at: at(0) }) as unknown as Run),
          deleted: ids.filter((id) => ended.has(id))
        }))
    }),
    outcomes: partly(Outcomes, { progress: (id) => void begun.add(id) }),
    steps: partly(Steps, { release: () => Effect.void }),
    recorder: partly(ReplyRecorder, {
      record: (replies) =>
        Effect.sync(() => {
          end(replies)
          replies.forEach(inbox.put)
        }),
      isOver: (run_id) => ended.has(run_id)
    }),
    progress: partly(ProgressReports, {
      record: (progress) => Effect.sync(() => observers[0]?.(progress))
    })
  }
}

/** The server's side: the given one, and what comes over HTTP. */
const bus = Layer.effect(
  Bus,
  Effect.map(Effect.all([Bus, Received]), ([bus, { cancelled, end, inbox, observers }]) =>
    Bus.of({
      ...bus,
      cancel: (team, run_id) => {
        cancelled.add(run_id)
        return bus.cancel(team, run_id)
      },
      consume: (handle, checks) =>
        Effect.gen(function* () {
          const { progress } = checks
          if (progress !== undefined) observers.push(progress)
          yield* inbox.consume(handle, checks)
          yield* bus.consume(
            (replies) =>
              Effect.zipRight(
                Effect.sync(() => end(replies)),
                handle(replies)
              ),
            checks
          )
        })
    })
  )
)

const api: HttpApi.HttpApi<"webhook-trigger"> = Object.assign(HttpApi.make("webhook-trigger") as any, {
  errorSchema: Schema.Never
})

const server = HttpLayerRouter.serve(
  HttpLayerRouter.addHttpApi(api.add(Leading)).pipe(
    Layer.provide(LeadingHandlers.layer),
    Layer.provide(LeaderKeyCheck.layer)
  ),
  { disableListenLog: true, disableLogger: true }
)

const engine = Layer.unwrapEffect(
  Effect.map(Received, ({ outcomes, progress, recorder, runs, steps }) =>
    HttpLeaders.layer.pipe(
      Layer.provide([outcomes, progress, recorder, runs, steps, Shutdown.layer, partly(Correlation, byRunId)])
    )
  )
)

/** A key of the team, in a repository of its own. */
const key = Effect.gen(function* () {
  yield* (yield* TeamStore).createTeam(team, yield* DateTime.now)
  const { key } = yield* (yield* LeaderKeys).create(team, { name: "contract" })
  return key
})

const leaders = Layer.unwrapEffect(
  Effect.gen(function* () {
    const url = `http://127.0.0.1:${yield* listeningPort}`
    return LeaderHttp.layer({ url, key: yield* key })
  })
)

const overHttp = (carrier: Layer.Layer<Bus | LeaderBus>) =>
  leaders.pipe(
    Layer.provide(server),
    Layer.merge(bus),
    Layer.provide(engine),
    Layer.provide(LeaderKeys.layer),
    Layer.provide([carrier, layerRepo, listening, Layer.sync(Received, makeReceived)]),
    Layer.orDie
  )

/** A team has one consumer, whatever stands by: the server, on behalf of all its leaders. */
const options = { countsStandbys: false, isRelayed: true }

const onRabbitMq = Layer.unwrapScoped(
  Effect.map(freshVhost, (address) => {
    const options = { url: Redacted.make(address), queueType: "classic" } as const
    return Layer.merge(BusAmqp.layer(options), LeaderAmqp.layer(options))
  })
)

// Its tests mostly wait, and each has its own server and virtual host.
describe.concurrent("leaders over HTTP, on RabbitMQ", () => contract(overHttp(onRabbitMq), options))

describe.concurrent("leaders over HTTP, on the bus in process", () => contract(overHttp(BusMemory.layer), options))
