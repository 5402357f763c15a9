/** What a server checks of the messages of leaders before it reads them. */
import type { Message } from "amqplib"
import { Effect, FiberSet, type Scope } from "effect"
import type { ReplyChecks, Subject } from "../Bus.ts"
import { countReceived } from "./Metrics.ts"
import { decodeProgress } from "./Wire.ts"

/** Milliseconds between two log lines about dropped messages. */
const dropLogInterval = 1_000

export interface Reception {
  /** The run that the message is about; `undefined` if the message is from nobody who got a prompt. */
  readonly subjectOf: (message: Message, queue: string) => Subject | undefined
  /** Whether it comes too late, since no reply can change its run any longer. */
  readonly isOver: (subject: Subject) => boolean
  readonly drop: (queue: string, kind: "refused" | "malformed" | "unknown") => undefined
  /** Passes on what it says, if anything. */
  readonly takeProgress: (message: Message, queue: string) => void
}

export const make = ({
  correlation,
  isOver: isRunOver = () => false,
  progress = () => {}
}: ReplyChecks): Effect.Effect<Reception, never, Scope.Scope> =>
  Effect.map(FiberSet.makeRuntime<never>(), (log) => {
    let loggedAt = Number.NEGATIVE_INFINITY
    const drop: Reception["drop"] = (queue, kind) => {
      countReceived(kind)
      // Any leader could otherwise flood the log.
      if (performance.now() - loggedAt < dropLogInterval) return
      loggedAt = performance.now()
      log(Effect.logWarning(`a ${kind} message on ${queue} is dropped; others like it may not be logged`))
    }
    const subjectOf: Reception["subjectOf"] = ({ properties: { correlationId } }, queue) => {
      const subject = typeof correlationId === "string" ? correlation.subjectOf(correlationId) : undefined
      return subject ?? drop(queue, "refused")
    }
    const isOver: Reception["isOver"] = ({ run_id }) => {
      if (!isRunOver(run_id)) return false
      countReceived("ended")
      return true
    }
    return {
      subjectOf,
      isOver,
      drop,
      takeProgress: (message, queue) => {
        const subject = subjectOf(message, queue)
        if (subject === undefined || isOver(subject)) return
        const read = decodeProgress(message)
        if (read === undefined) return drop(queue, "malformed")
        countReceived("progress")
        progress({ ...read, run_id: subject.run_id })
      }
    }
  })
