/** A clock whose sleeps a test sees. */
import { Clock, type Duration, Effect } from "effect"

/** Runs the effect by its clock, and reports each sleep when it begins. */
export const reportingSleeps = (report: (duration: Duration.Duration) => void) =>
  Effect.updateService(
    Clock.Clock,
    (clock): Clock.Clock => ({
      ...clock,
      sleep: (duration) =>
        Effect.suspend(() => {
          report(duration)
          return clock.sleep(duration)
        })
    })
  )
