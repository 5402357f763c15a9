/** The warnings on the page of an ended run. */
import { isUnreleased } from "../../../domain/run/RunStatus.ts"
import { plainText } from "../../../domain/run/RunTitle.ts"
import type { Run } from "../../api/Types.ts"
import { formatSeconds } from "../../format/Format.ts"

interface RunWarning {
  readonly title: string
  readonly advice: string
}

/** The warning about an ended run whose agent may still work. */
const stillWorking = (run: Run): string | undefined => {
  const { cancelled_by, mode, unconfirmed } = run
  if (unconfirmed) {
    return "The leader did not confirm that the agent has stopped. The agent may still be working. A late answer appears here."
  }
  if (!isUnreleased(run)) return undefined
  return mode === "wait" && cancelled_by === undefined
    ? "The agent is still working. A late answer appears here. Until the leader is done, the team gets no other prompt. You can cancel the run."
    : "The leader was told to stop but may still be working. The team gets its next prompt when the leader has stopped, or 30 seconds after that."
}

const expired = ({ sent_at, timeout_seconds = 0 }: Run): string =>
  `It ${sent_at === undefined ? "was not sent" : "did not answer"} within ${formatSeconds(timeout_seconds)}.`

const ofTimeout = (run: Run): RunWarning => ({
  title: `${expired(run)}${run.last_step === undefined ? "" : ` Last step: ${plainText(run.last_step)}`}`,
  advice:
    run.sent_at === undefined
      ? "The prompt was never sent: it waited too long for a free slot or for the team. Increase the timeout or the concurrency limit, or use more teams."
      : (stillWorking(run) ??
        "The team received the prompt but did not answer in time. If the work needs more time, increase the webhook's timeout. A late answer appears here.")
})

const ofCancelled = (run: Run): RunWarning => ({
  title: run.source === "chat" ? "The message was cancelled." : "The run was cancelled.",
  advice:
    stillWorking(run) ??
    (run.sent_at === undefined
      ? "The prompt was never sent."
      : "The team has stopped working on it. If an answer arrived anyway, it is shown here.")
})

/** `undefined`: it has not ended, or its answer or error says enough. */
export const warningFor = (run: Run): RunWarning | undefined =>
  run.status === "timeout" ? ofTimeout(run) : run.status === "cancelled" ? ofCancelled(run) : undefined
