import { type FinalStatus, phaseOf, type RunPhase, type RunStatus } from "../../../domain/run/RunStatus.ts"
import { useQuestions } from "../../api/Queries.ts"
import type { Run, Team } from "../../api/Types.ts"
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
}

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
      failure: false
    },
    error: { icon: "cross", label: "Error", tone: "danger", plural: "errors", failure: true },
    timeout: {
      icon: "clock",
      label: "Timeout",
      tone: "warning",
      plural: "timeouts",
      failure: true
    },
    cancelled: {
      icon: "cross",
      label: "Cancelled",
      tone: "neutral",
      plural: "cancelled",
      failure: false
    }
  }

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
