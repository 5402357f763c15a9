import { type FinalStatus, isFinal, type RunStatus } from "../../../domain/run/RunStatus.ts"
import type { Run, Team } from "../../api/Types.ts"
import { Icon, type IconName } from "../Icon.tsx"
import type { Tone } from "../Tone.ts"

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
  /** The warning on the run's page; `undefined` where the answer or the error says it all. */
  readonly warning: ((run: Run) => { readonly title: string; readonly advice: string }) | undefined
}

/** Everything the UI needs to know of each status of a run. A status that is missing here does not compile. */
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
        title: "No answer arrived in time.",
        advice:
          run.sent_at === undefined
            ? "The prompt was never sent: it was still waiting for a free slot or for the team when the time was up. Raise the timeout or the concurrency limit, or use more teams."
            : "The team received the prompt but did not answer in time. If such work takes longer, raise the webhook's timeout. A late answer is still recorded here."
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
          run.released_at === undefined
            ? "Its leader was asked to stop, and may still be at work. The team gets its next prompt when the leader is done, or when the timeout has passed."
            : run.sent_at === undefined
              ? "Its prompt was never sent."
              : "The team is no longer at work on it. An answer that came all the same is recorded here."
      })
    }
  }

/** The warning for a run that has ended, if its status calls for one. */
export const warningFor = (run: Run) => (isFinal(run.status) ? statusDisplays[run.status].warning?.(run) : undefined)

type Progress = Pick<Run, "status" | "collecting_until" | "started_at">

/**
 * Distinguishes runs that triggers can join from those waiting in the lane, and those the team works on from those waiting
 * in its queue.
 */
const displayOf = ({ status, collecting_until, started_at }: Progress): StatusDisplay => {
  const { tone } = statusDisplays[status]
  if (status === "queued" && collecting_until !== undefined) return { icon: "clock", label: "Collecting", tone }
  if (status !== "running") return statusDisplays[status]
  return started_at === undefined ? { icon: "dots", label: "Sent", tone } : { icon: "spinner", label: "Working", tone }
}

/** A run's status, never shown by colour alone. */
export const StatusBadge = ({ run }: { readonly run: Progress }) => {
  const { icon, label, tone } = displayOf(run)
  return (
    <span className={`badge ${tone}`}>
      <Icon name={icon} />
      {label}
    </span>
  )
}

/** Whether a team gets prompts: it is not paused, and at least one leader is connected. */
export const TeamStatus = ({ team }: { readonly team: Pick<Team, "running" | "paused_at"> | undefined }) =>
  team === undefined ? null : team.paused_at !== undefined ? (
    <span className="badge warning">
      <Icon name="pause" />
      Paused
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
