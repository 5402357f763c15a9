import {
  type FinalStatus,
  isFinal,
  isUnreleased,
  phaseOf,
  type RunPhase,
  type RunStatus
} from "../../../domain/run/RunStatus.ts"
import { plainText } from "../../../domain/run/RunTitle.ts"
import { useQuestions } from "../../api/Queries.ts"
import type { Run, Team } from "../../api/Types.ts"
import { formatSeconds } from "../../format/Format.ts"
import { Icon, type IconName } from "../Icon.tsx"
import type { Tone } from "../Notice.tsx"

interface StatusDisplay {
  readonly icon: IconName
  readonly label: string
  readonly tone: Tone
}

interface FinalStatusDisplay extends StatusDisplay {
  /** For counts, as in `2 timeouts`. */
  readonly plural: string
  /** Whether charts count it as a failure. */
  readonly failure: boolean
  /** The warning on the run's page; `undefined` if the answer or the error says enough. */
  readonly warning: ((run: Run) => { readonly title: string; readonly advice: string }) | undefined
}

/** Of an ended run whose agent may still work. */
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

/** How the UI shows each status of a run. A missing status does not compile. */
export const statusDisplays: { readonly [S in RunStatus]: S extends FinalStatus ? FinalStatusDisplay : StatusDisplay } =
  {
    queued: { icon: "dots", label: "Queued", tone: "neutral" },
    running: { icon: "spinner", label: "Sent or working", tone: "info" },
    success: {
      icon: "check",
      label: "Success",
      tone: "success",
      plural: "successes",
      failure: false,
      warning: undefined
    },
    error: { icon: "cross", label: "Error", tone: "danger", plural: "errors", failure: true, warning: undefined },
    timeout: {
      icon: "clock",
      label: "Timeout",
      tone: "warning",
      plural: "timeouts",
      failure: true,
      warning: (run) => ({
        title: `${expired(run)}${run.last_step === undefined ? "" : ` Last step: ${plainText(run.last_step)}`}`,
        advice:
          run.sent_at === undefined
            ? "The prompt was never sent: it waited too long for a free slot or for the team. Increase the timeout or the concurrency limit, or use more teams."
            : (stillWorking(run) ??
              "The team received the prompt but did not answer in time. If the work needs more time, increase the webhook's timeout. A late answer appears here.")
      })
    },
    cancelled: {
      icon: "cross",
      label: "Cancelled",
      tone: "neutral",
      plural: "cancelled",
      failure: false,
      warning: (run) => ({
        title: run.source === "chat" ? "The message was cancelled." : "The run was cancelled.",
        advice:
          stillWorking(run) ??
          (run.sent_at === undefined
            ? "The prompt was never sent."
            : "The team has stopped working on it. If an answer arrived anyway, it is shown here.")
      })
    }
  }

/** The warning for an ended run, if its status has one. */
export const warningFor = (run: Run) => (isFinal(run.status) ? statusDisplays[run.status].warning?.(run) : undefined)

const phaseDisplays: { readonly [P in RunPhase]: StatusDisplay } = {
  ...statusDisplays,
  collecting: { ...statusDisplays.queued, icon: "clock", label: "Collecting" },
  kept: { ...statusDisplays.queued, icon: "pause", label: "Kept" },
  scheduled: { ...statusDisplays.queued, icon: "clock", label: "Scheduled" },
  "waits for approval": { icon: "question", label: "To approve", tone: "info" },
  sent: { ...statusDisplays.running, icon: "dots", label: "Sent" },
  working: { ...statusDisplays.running, label: "Working" }
}

type Progress = Pick<Run, "status" | "held_for" | "started_at" | "delivery_failed"> &
  Partial<Pick<Run, "asks" | "cancelled_by" | "run_id">>

/** The agent asks a question that nobody has replied to. */
const AsksBadge = ({ run_id }: { readonly run_id: string }) =>
  useQuestions().some((run) => run.run_id === run_id) && (
    <span className="badge info">
      <Icon name="question" />
      Asks
    </span>
  )

/** A run's status, never shown by colour alone; whether it asks; and whether an event of it could not be delivered. */
export const StatusBadge = ({ run }: { readonly run: Progress }) => {
  const phase = phaseOf(run)
  const { icon, label, tone } = phaseDisplays[phase]
  const badge = (
    <span className={`badge ${tone}`}>
      <Icon name={icon} />
      {phase === "cancelled" && run.cancelled_by === "superseded" ? "Superseded" : label}
    </span>
  )
  if (!run.delivery_failed && run.asks === undefined) return badge
  return (
    <span className="row badges">
      {badge}
      {run.asks !== undefined && run.run_id !== undefined && <AsksBadge run_id={run.run_id} />}
      {run.delivery_failed && (
        <span className="badge danger">
          <Icon name="warning" />
          Delivery failed
        </span>
      )}
    </span>
  )
}

/** Whether a team receives prompts: a leader is connected, and the team is neither paused nor resting. */
export const TeamStatus = ({
  team
}: {
  readonly team: Pick<Team, "running" | "paused_at" | "resting_until"> | undefined
}) =>
  team === undefined ? null : team.paused_at !== undefined ? (
    <span className="badge warning">
      <Icon name="pause" />
      Paused
    </span>
  ) : team.resting_until !== undefined ? (
    <span className="badge warning">
      <Icon name="clock" />
      Resting
    </span>
  ) : team.running ? (
    <span className="badge success">
      <Icon name="check" />
      Connected
    </span>
  ) : (
    <span className="badge warning">
      <Icon name="warning" />
      Stopped
    </span>
  )
