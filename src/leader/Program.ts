/** Runs a program for one prompt: its input, its output, and its end. */
import { Deferred, Duration, Effect, Exit } from "effect"
import { maxAnswer } from "../bus/Bodies.ts"
import { LeaderError } from "./Leader.ts"
import * as ProcessGroup from "./ProcessGroup.ts"

interface ProgramOptions extends ProcessGroup.ProcessOptions {
  readonly input: string
  /** Default: SIGTERM and 5 seconds. */
  readonly stop?: ProcessGroup.Stop
  /**
   * The text that makes it stop by itself, written to its standard input. That stays open until its output is complete.
   * If the output is not complete after the stop's grace, the signal follows.
   */
  readonly interrupt?: string
}

/** How a program ended. */
interface Ending {
  /** `exit code 0`, `ended by SIGKILL`; `terminated`: its output was complete, but it did not end by itself. */
  readonly status: string
  /** The end of its standard error. */
  readonly errors: string
}

/** A reader of a program's standard output. */
export interface Output<A> {
  /** Returns false when it can take no more; then the program is killed. */
  readonly write: (chunk: Buffer) => boolean
  /** Nothing more is needed, so the program has a moment left to end, unless it goes on. */
  readonly isDone: () => boolean
  readonly result: (ending: Ending) => Effect.Effect<A, LeaderError>
}

const defaultStop: ProcessGroup.Stop = { signal: "SIGTERM", grace: "5 seconds" }
/** How long a remaining child process may keep the output open. */
const drainTimeout = "1 second"
/** How long a program may take to end, or to print more, once its output is complete. */
const endTimeout = Duration.seconds(5)

/** The longest output that may still be an answer: one newline at its end does not count. */
const maxOutput = maxAnswer + "\r\n".length

/**
 * The whole output, without one trailing newline. An exit code other than 0 is a failure with the end of the standard error.
 * An output that is too long for an answer is cut, but remains too long for one. `heard` is called at each piece.
 */
export const wholeText = (heard?: () => void): Output<string> => {
  const chunks: Array<Buffer> = []
  let size = 0
  return {
    write: (chunk) => {
      heard?.()
      size += chunk.length
      chunks.push(chunk)
      return size <= maxOutput
    },
    isDone: () => false,
    result: ({ errors, status }) => {
      if (status !== "exit code 0" && size <= maxOutput)
        return new LeaderError({ message: errors === "" ? status : `${status}: ${errors}` })
      return Effect.succeed(
        Buffer.concat(chunks)
          .toString()
          .replace(/\r?\n$/, "")
      )
    }
  }
}

/**
 * Runs the program and returns what its output amounts to.
 *
 * The program has its own process group. When it ends or is interrupted, the rest of the group is terminated.
 */
export const runProgram = <A>(options: ProgramOptions, output: Output<A>): Effect.Effect<A, LeaderError> =>
  Effect.acquireUseRelease(
    start(options, output),
    (running) =>
      Effect.gen(function* () {
        const status = yield* Effect.raceFirst(running.ended, Effect.as(running.overdue, "terminated"))
        if (status !== "terminated") yield* Effect.timeoutOption(running.drained, drainTimeout)
        return yield* output.result({ status, errors: running.errors() })
      }),
    (running, exit) => {
      const { interrupt, stop = defaultStop } = options
      const end = ProcessGroup.end(running, stop)
      if (interrupt === undefined || !Exit.hasInterrupts(exit)) return end
      const isOver = Effect.raceFirst(running.done, Effect.ignore(running.ended))
      return Effect.sync(() => running.child.stdin.write(interrupt)).pipe(
        Effect.andThen(Effect.timeoutOption(isOver, stop.grace)),
        Effect.andThen(end)
      )
    }
  )

interface Running extends ProcessGroup.Running {
  /** Completes when its output is complete. */
  readonly done: Effect.Effect<void>
  /** Completes when it is complete, and nothing more has come for a while. */
  readonly overdue: Effect.Effect<void>
}

/** Starts the program, with its input and its output connected. */
const start = (options: ProgramOptions, output: Output<unknown>): Effect.Effect<Running, LeaderError> =>
  Effect.map(ProcessGroup.start(options), (running) => {
    const { child } = running
    const done = Deferred.makeUnsafe<void>()
    const overdue = Deferred.makeUnsafe<void>()
    let timer: NodeJS.Timeout | undefined
    child.once("close", () => clearTimeout(timer))
    child.stdout.on("data", (chunk: Buffer) => {
      if (!output.write(chunk)) ProcessGroup.signal(running, "SIGKILL")
      clearTimeout(timer)
      if (!output.isDone()) return
      child.stdin.end()
      Deferred.doneUnsafe(done, Effect.void)
      timer = setTimeout(() => Deferred.doneUnsafe(overdue, Effect.void), Duration.toMillis(endTimeout))
    })
    if (options.interrupt === undefined) child.stdin.end(options.input)
    else child.stdin.write(options.input)
    return { ...running, done: Deferred.await(done), overdue: Deferred.await(overdue) }
  })
