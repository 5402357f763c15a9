/** Options of a leader that say in which folder its agent works, before the agent or the program. */
export interface WorkspaceOption {
  /** Absent: the option is a switch. */
  readonly value?: string
  readonly help: string
}

export const workspaceOptions = {
  workspace: {
    value: "git:URL",
    help: "Work in a clean copy of this git repository for each thread, or for each run without one; or in a folder, one run at a time"
  },
  "workspace-include": { value: "file", help: "Copy this file of the agent's folder into each copy; may be repeated" },
  "workspace-setup": { value: "command", help: "Run this command of a shell in a copy after each checkout" },
  "workspace-setup-timeout": { value: "duration", help: "The time limit of --workspace-setup; default: 10 minutes" },
  "workspace-submodules": { help: "Check out submodules" },
  "workspace-lfs": { help: "Fetch large files with git lfs" },
  "workspace-keep": { value: "duration", help: "Remove a thread's copy this long after its last run; default: 7 days" },
  "workspace-disk": {
    value: "size",
    help: "Remove the copies unused for longest when the team's take more than this; default: 20 GB"
  },
  "workspace-push": {
    help: "Push commits of answered runs to a branch webhook/ID, where ID is the thread's or the run's"
  }
} as const satisfies Readonly<Record<string, WorkspaceOption>>
