import { describe } from "@effect/vitest"
import { Context, DateTime, Deferred, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import { Leading } from "../../../src/api/Leading.ts"
import { Bus, type Delivery, LeaderBus, type Prompt, type Reply, type ReplyChecks } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import * as LeaderHttp from "../../../src/bus/http/LeaderHttp.ts"
import { makeInbox } from "../../../src/bus/Inbox.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import type { Outcome } from "../../../src/domain/run/Run.ts"
import { LeaderKeys } from "../../../src/engine/access/LeaderKeys.ts"
import { AttachedFiles } from "../../../src/engine/files/AttachedFiles.ts"
import { TeamLeaders } from "../../../src/engine/leaders/TeamLeaders.ts"
import { Correlation } from "../../../src/engine/outcome/Correlation.ts"
import { Outcomes } from "../../../src/engine/outcome/Outcomes.ts"
import { ProgressReports } from "../../../src/engine/progress/ProgressReports.ts"
import { HttpLeaders } from "../../../src/engine/reply/HttpLeaders.ts"
import { ReplyRecorder } from "../../../src/engine/reply/ReplyRecorder.ts"
import { Shutdown } from "../../../src/engine/Shutdown.ts"
import { Sender } from "../../../src/engine/step/Sender.ts"
import { Steps } from "../../../src/engine/step/Steps.ts"
import * as LeaderKeyCheck from "../../../src/http/leaders/LeaderKeyCheck.ts"
import * as LeadingHandlers from "../../../src/http/leaders/LeadingHandlers.ts"
import { TeamStore } from "../../../src/repo/manage/TeamStore.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { layerRepo } from "../../../src/testing.ts"
import { listening, listeningPort } from "../../http/Server.ts"
import { endOne, failure, newMessage, outcomes, step } from "../../repo/contract/fixtures.ts"
import { contract } from "../contract/BusContract.ts"
import { byRunId, team } from "../contract/support.ts"

/** Only what is called in these tests. */
const partly = <I, S>(tag: Context.Service<I, S>, methods: Partial<NoInfer<S>>) => Layer.succeed(tag, methods as S)

/** The server, as the tests see it: what a leader replies is recorded, and then passed on to the test's `consume`. */
class Received extends Context.Service<Received, Effect.Success<typeof makeReceived>>()("test/Received") {}

/** A prompt that a leader is to get, as the run of its team that is out. */
interface Relayed {
  readonly prompt: Prompt
  isOver: boolean
  readonly begun: Deferred.Deferred<void>
  readonly ended: Deferred.Deferred<void>
  /** It has ended, or its leader is told to stop. */
  readonly onChange: Set<() => void>
}

const makeReceived = Effect.gen(function* () {
  const repo = yield* Repo
  const rows = yield* Effect.context<Effect.Services<typeof Repo>>()
  const inbox = makeInbox()
  const observers: Array<NonNullable<ReplyChecks["progress"]>> = []
  const runs = new Map<RunId, Relayed>()
  const end = (run_id: RunId, outcome: Outcome) =>
    Effect.andThen(
      Effect.provide(endOne(run_id, outcome, 0), rows),
      Effect.sync(() => runs.get(run_id)!.onChange.forEach((changed) => changed()))
    )

  /** Offers the run to the team's leader until that is done with it. */
  const relay = ({ cancelled, prompt }: Delivery) =>
    Effect.gen(function* () {
      const { run_id, team } = prompt
      const isNew = !runs.has(run_id)
      if (isNew) {
        const [begun, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const accepts = [yield* newMessage({ run_id, team })]
        runs.set(run_id, { prompt, isOver: false, begun, ended, onChange: new Set() })
        // The relay may be interrupted, and a run that is not accepted could never be offered.
        yield* Effect.uninterruptible(Effect.provide(step({ accepts }), rows))
      }
      const { begun, ended } = runs.get(run_id)!
      yield* repo.offerRuns([{ team, run_id, redelivered: !isNew }])
      const stop = Effect.andThen(Deferred.await(begun), end(run_id, outcomes.cancelled))
      yield* Effect.raceFirst(
        Deferred.await(ended),
        Effect.andThen(Deferred.await(cancelled), Effect.andThen(stop, Effect.never))
      )
    })

  /** A leader that stops may close the connection of its reply. The run ends nevertheless, and so does its relay. */
  const recordEnds = (replies: ReadonlyArray<Reply>) =>
    Effect.forEach(
      replies.flatMap(({ run_id }) => runs.get(run_id) ?? []),
      (run) =>
        Effect.andThen(
          end(run.prompt.run_id, failure("ended")),
          Effect.sync(() => {
            run.isOver = true
            Deferred.doneUnsafe(run.ended, Effect.void)
          })
        ),
      { discard: true }
    ).pipe(Effect.uninterruptible)

  return {
    inbox,
    observers,
    relay,
    recordEnds,
    outcomes: partly(Outcomes, {
      progress: (id) => Deferred.doneUnsafe(runs.get(id)!.begun, Effect.void),
      watch: (id, onEnd) => {
        const changed = () => onEnd(undefined)
        runs.get(id)!.onChange.add(changed)
        return () => runs.get(id)!.onChange.delete(changed)
      }
    }),
    steps: partly(Steps, {}),
    sender: partly(Sender, { promptOf: ({ run_id }) => runs.get(run_id)!.prompt }),
    recorder: partly(ReplyRecorder, {
      handle: (replies) =>
        Effect.andThen(
          recordEnds(replies),
          Effect.sync(() => replies.forEach(inbox.put))
        ),
      isOver: (run_id) => runs.get(run_id)!.isOver
    }),
    progress: partly(ProgressReports, {
      record: (progress) => Effect.sync(() => observers[0]?.(progress))
    })
  }
})

/** While a leader over HTTP is present, it gets what is sent to its team. */
const relaying = Layer.effectDiscard(
  Effect.gen(function* () {
    const { isOverHttp } = yield* TeamLeaders
    const { relay } = yield* Received
    const { lead } = yield* LeaderBus
    const untilIt = (isLed: boolean) =>
      Effect.repeat(Effect.sleep("5 millis"), { until: () => isOverHttp(team) === isLed })
    const relayed = Effect.scoped(Effect.andThen(lead(team, relay), untilIt(false)))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(untilIt(true), relayed)))
  })
)

/** The server's side: the given one, and what comes over HTTP. */
const bus = Layer.effect(
  Bus,
  Effect.map(Effect.all([Bus, Received]), ([bus, { inbox, observers, recordEnds }]) =>
    Bus.of({
      ...bus,
      consume: (handle, checks) =>
        Effect.gen(function* () {
          const { progress } = checks
          if (progress !== undefined) observers.push(progress)
          yield* inbox.consume(handle, checks)
          yield* bus.consume((replies, later) => Effect.andThen(recordEnds(replies), handle(replies, later)), checks)
        })
    })
  )
)

const server = HttpRouter.serve(
  HttpApiBuilder.layer(HttpApi.make("webhook-trigger").add(Leading)).pipe(
    Layer.provide(LeadingHandlers.layer),
    Layer.provide(LeaderKeyCheck.layer)
  ),
  { disableListenLog: true, disableLogger: true }
)

const engine = Layer.unwrap(
  Effect.map(Received, ({ outcomes, progress, recorder, sender, steps }) =>
    HttpLeaders.layer.pipe(
      Layer.provide([
        AttachedFiles.layer,
        outcomes,
        progress,
        recorder,
        sender,
        steps,
        Shutdown.layer,
        partly(Correlation, byRunId)
      ])
    )
  )
)

/** A key of the team, in a repository of its own. */
const key = Effect.gen(function* () {
  yield* (yield* TeamStore).createTeam(team, yield* DateTime.now)
  const { key } = yield* (yield* LeaderKeys).create(team, { name: "contract" })
  return key
})

const leaders = Layer.unwrap(
  Effect.gen(function* () {
    const url = `http://127.0.0.1:${yield* listeningPort}`
    return LeaderHttp.layer({ url, key: yield* key })
  })
)

const overHttp = leaders.pipe(
  Layer.provide(server),
  Layer.merge(bus),
  Layer.merge(relaying),
  Layer.provide(engine),
  Layer.provide(LeaderKeys.layer),
  Layer.provide(TeamLeaders.layer),
  Layer.provide(Layer.effect(Received, makeReceived)),
  Layer.provide([BusMemory.layer, layerRepo, listening]),
  Layer.orDie
)

// The tests mostly wait, and each has its own server. A team has one consumer, whatever stands by: the relay.
describe.concurrent("leaders over HTTP", () => contract(overHttp, { countsStandbys: false, isRelayed: true }))
