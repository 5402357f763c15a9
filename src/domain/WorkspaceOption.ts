/** Options of a leader, before the agent or the program: in which folder it works, and how long it may be silent. */
export interface WorkspaceOption {
  /** Absent: the option is a switch. */
  readonly value?: string
  readonly help: string
}

export const workspaceOptions = {
  "stall-timeout": {
    value: "duration",
    help: "Stop the agent and fail the run when it has shown nothing for this long; default: AGENT_STALL_TIMEOUT"
  },
  workspace: {
    value: "git:URL",
    help: "Work in a clean copy of this git repository, one for each thread or run without a thread; or in this folder, one run at a time"
  },
  "workspace-include": { value: "file", help: "Copy this file of the agent's folder into each copy; may be repeated" },
  "workspace-setup": { value: "command", help: "Run this shell command in a copy after each checkout" },
  "workspace-setup-timeout": { value: "duration", help: "The time limit of --workspace-setup; default: 10 minutes" },
  "workspace-submodules": { help: "Check out submodules" },
  "workspace-lfs": { help: "Fetch large files with git lfs" },
  "workspace-keep": { value: "duration", help: "Remove a thread's copy this long after its last run; default: 7 days" },
  "workspace-disk": {
    value: "size",
    help: "Remove the least recently used copies while the team's exceed this; default: 20 GB"
  },
  "workspace-push": {
    help: "Push the commits of answered runs to the branch webhook/ID, with the ID of the thread or run"
  }
} as const satisfies Readonly<Record<string, WorkspaceOption>>
