import type { RunStatus, Team } from "../api/Types.ts"
import { Icon, type IconName } from "./Icon.tsx"

const looks: Record<RunStatus, readonly [icon: IconName, text: string]> = {
  queued: ["dots", "Queued"],
  running: ["spin", "Running"],
  success: ["check", "Success"],
  error: ["cross", "Error"],
  timeout: ["clock", "Timeout"]
}

export const statusText = (status: RunStatus): string => looks[status][1]

/** A run's status: never by colour alone. */
export const Status = ({ of }: { readonly of: RunStatus }) => (
  <span className={`badge ${of}`}>
    <Icon name={looks[of][0]} spin={of === "running"} />
    {looks[of][1]}
  </span>
)

/** Whether a team can work: at least one leader is connected. */
export const Running = ({ team }: { readonly team: Pick<Team, "running"> | undefined }) =>
  team === undefined ? null : team.running ? (
    <span className="badge success">
      <Icon name="check" />
      Running
    </span>
  ) : (
    <span className="badge timeout">
      <Icon name="warn" />
      Not running
    </span>
  )
