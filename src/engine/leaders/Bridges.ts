import { DateTime, Deferred, Effect, ExecutionStrategy, Exit, Option, Scope } from "effect"
import { promptBody } from "../../bus/Bodies.ts"
import { type Delivery, LeaderBus, type Prompt } from "../../bus/Bus.ts"
import type { TeamName } from "../../domain/Team.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HttpLeaderStore, type OfferedPrompt, type PromptState } from "../../repo/run/HttpLeaderStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import type { Calm } from "./Calm.ts"
import type { PromptWatch } from "./PromptWatch.ts"

/** How often the teams with leaders over HTTP are read, and the shortest time between two such reads. */
const pollInterval = "1 second"
const pause = "50 millis"
/** For how long the prompt of a leader that has left may still prove to be done: it may have replied just before. */
const grace = "1 second"
const mostTogether = 100

/** The prompt as leaders get it. */
const textOf = (prompt: Prompt): string => {
  const { correlation_id, traceparent } = prompt
  return JSON.stringify({ ...promptBody(prompt), correlation_id, traceparent })
}

/**
 * Leads each team whose leader is present over HTTP, on its behalf. Every process leads all of them, so that the end of one
 * leaves no team without a consumer; the bus gives the prompts of a team to one of them. A prompt is acknowledged when it is
 * done (`HttpLeaderStore.finishPrompt`). If it is delivered to another process before that, its leader keeps it.
 */
export const start = Effect.fnUntraced(function* (
  watch: PromptWatch["watch"],
  calm: Calm
): Effect.fn.Return<void, never, ChangeFeed | HttpLeaderStore | LeaderBus | Scope.Scope> {
  const store = yield* HttpLeaderStore
  const feed = yield* ChangeFeed
  const bus = yield* LeaderBus
  const scope = yield* Effect.scope

  const offer = yield* GroupCommit.make({
    size: mostTogether,
    weight: { of: ({ prompt }: OfferedPrompt) => prompt.length, limit: 4_000_000 },
    commit: (prompts: ReadonlyArray<OfferedPrompt>) => Effect.as(store.offerPrompts(prompts), prompts)
  })

  const working = new Set<TeamName>()
  const handle = ({ cancelled, prompt, redelivered }: Delivery) =>
    Effect.gen(function* () {
      const { run_id, team } = prompt
      working.add(team)
      const offered: OfferedPrompt = { team, run_id, prompt: textOf(prompt), redelivered }
      yield* offer([offered])
      const look = yield* Effect.makeLatch(false)
      let state = Option.none<PromptState>()
      const stop = watch(team, (current) => {
        state = current
        look.unsafeOpen()
      })
      const step = Effect.gen(function* () {
        yield* look.await
        look.unsafeClose()
        if (Option.isNone(state) || state.value.run_id !== run_id) yield* offer([offered])
        else if (state.value.done) return true
        else if (!state.value.cancelled && (yield* Deferred.isDone(cancelled))) yield* store.cancelPrompt(offered)
        return false
      })
      const cancel = Effect.zipRight(Deferred.await(cancelled), Effect.zipRight(look.open, Effect.never))
      yield* Effect.raceFirst(Effect.repeat(step, { until: (isDone) => isDone }), cancel).pipe(
        Effect.ensuring(Effect.sync(stop))
      )
    }).pipe(Effect.ensuring(Effect.sync(() => working.delete(prompt.team))))

  const all = yield* Effect.acquireRelease(Scope.make(ExecutionStrategy.parallel), Scope.close)
  const led = new Map<TeamName, Scope.CloseableScope>()
  const follow = Effect.gen(function* () {
    const teams = new Set(yield* store.ledTeams(yield* DateTime.now))
    calm.read()
    for (const team of teams) {
      if (led.has(team)) continue
      const leading = yield* Scope.fork(all, ExecutionStrategy.sequential)
      led.set(team, leading)
      yield* Scope.extend(bus.lead(team, handle), leading)
    }
    for (const [team, leading] of led) {
      if (teams.has(team)) continue
      led.delete(team)
      // Another leader may come at once, and need not wait for the end of this.
      const close = Scope.close(leading, Exit.void)
      yield* Effect.forkIn(working.has(team) ? Effect.delay(close, grace) : close, scope)
    }
  }).pipe(Effect.ignoreLogged)

  const changed = yield* Effect.makeLatch()
  yield* feed.listen((changes) => {
    if (changes.some(({ _tag }) => _tag === "LeaderChanged" || _tag === "LeaderKeyRevoked")) changed.unsafeOpen()
  })
  yield* Effect.gen(function* () {
    yield* Effect.timeoutOption(changed.await, pollInterval)
    changed.unsafeClose()
    yield* Effect.uninterruptible(follow)
    yield* Effect.sleep(pause)
  }).pipe(Effect.forever, Effect.forkScoped)
})
