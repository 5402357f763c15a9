import type { WorkspaceReport } from "./AgentReport.ts"

const short = (commit: string): string => commit.slice(0, 7)

/** The agent's changes, in a line: `3 files changed, +10 −2; 1a2b3c4 to 5d6e7f8; pushed to webhook/…`. */
export const workspaceLine = (workspace: WorkspaceReport): string => {
  const { base, branch, deletions = 0, files, head, insertions = 0, note } = workspace
  const isMoved = base !== undefined && head !== undefined && head !== base
  return [
    files === 0
      ? "no changes"
      : files && `${files} ${files === 1 ? "file" : "files"} changed, +${insertions} −${deletions}`,
    base && (isMoved ? `${short(base)} to ${short(head)}` : `at ${short(base)}`),
    branch && `pushed to ${branch}`,
    note
  ]
    .filter((part) => part)
    .join("; ")
}
