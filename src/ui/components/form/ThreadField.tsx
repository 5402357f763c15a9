import type { Run } from "../../api/Types.ts"
import { TextField } from "./TextField.tsx"

interface ThreadFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** The key of a thread. */
export const ThreadField = ({ help, ...field }: ThreadFieldProps & { readonly help: string }) => (
  <TextField label="Thread (optional)" {...field} maxLength={500} help={help} />
)

export const ReplayThreadField = (field: ThreadFieldProps) => (
  <ThreadField
    {...field}
    help="The key of the conversation that the new run belongs to; without one, it stands alone"
  />
)

/** The thread of a replay, if it is not that of the run. */
export const threadOfReplay = ({ thread }: Run, typed: string): { readonly thread?: string | null } => {
  const key = typed.trim()
  return key === (thread?.key ?? "") ? {} : { thread: key === "" ? null : key }
}
