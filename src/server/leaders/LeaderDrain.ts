/** How long a stopping process lets its leaders finish the run in hand. They take no other. */
import { Duration, Option } from "effect"
import * as Processes from "../../runtime/Processes.ts"

/** An agent's work costs money, and is done and paid again if it is cut off. */
const byDefault = { agent: Duration.minutes(10), program: Duration.seconds(10) }

/** After Ctrl-C, a person waits. */
const atTerminal = Duration.seconds(10)

/** The grace of a leader: the setting, or the default for what leads the team; at SIGINT no more than ten seconds. */
export const graceOf =
  (leaderDrain: Option.Option<Duration.Duration>, leads: keyof typeof byDefault) => (): Duration.Duration => {
    const grace = Option.getOrElse(leaderDrain, () => byDefault[leads])
    return Processes.stop.signal === "SIGINT" ? Duration.min(grace, atTerminal) : grace
  }
