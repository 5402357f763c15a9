/** Agents that hang: one that is silent for too long is stopped. */
import { Clock, Duration, Effect } from "effect"
import type { Task } from "./agents/Agent.ts"
import { LeaderError } from "./Leader.ts"

/**
 * The work, which fails with `agent_stalled` once the agent has shown nothing for so long. What it reports while it is stopped
 * is kept.
 */
export const unlessStalled = <A>(
  limit: Duration.Input | undefined,
  title: string,
  task: Task,
  work: (task: Task) => Effect.Effect<A, LeaderError>
): Effect.Effect<A, LeaderError> =>
  limit === undefined
    ? work(task)
    : Effect.clockWith((clock) => {
        const most = Duration.fromInputUnsafe(limit)
        let last = clock.currentTimeMillisUnsafe()
        const heard = () => {
          last = clock.currentTimeMillisUnsafe()
        }
        const progress: Task["progress"] = (shown) => {
          heard()
          task.progress(shown)
        }
        const silence: Effect.Effect<never, LeaderError> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const left = last + Duration.toMillis(most) - now
          if (left > 0) return Effect.andThen(Effect.sleep(left), silence)
          const message = `${title} was stopped: it had shown nothing for ${Duration.format(most)}`
          return new LeaderError({ code: "agent_stalled", message })
        })
        return Effect.raceFirst(work({ ...task, heard, progress }), silence)
      })
