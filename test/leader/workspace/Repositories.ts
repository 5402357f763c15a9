/** Git repositories on this machine, and agents that work in copies of them, for tests. */
import { execFileSync } from "node:child_process"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "@effect/vitest"
import { Duration, Effect, Queue } from "effect"
import { Bus, type Prompt, type Reply } from "../../../src/bus/Bus.ts"
import { ThreadId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Command } from "../../../src/leader/index.ts"
import type { Repository, WorkspaceOptions } from "../../../src/leader/workspace/Workspace.ts"
import { byRunId, makePrompt, team } from "../../bus/contract/support.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"

const author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]

/** A repository with a branch `main`. */
export const repository = Effect.map(temporaryFolder, (folder) => {
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", [...author, ...args], { cwd: folder, encoding: "utf8", stdio: "pipe" }).trim()
  git("init", "--quiet", "--initial-branch=main")
  /** Commits the files to the branch, which begins at `main`. Returns the commit. */
  const commit = (branch: string, files: Readonly<Record<string, string>>) => {
    if (git("branch", "--list", branch) === "" && branch !== "main") git("branch", branch, "main")
    if (git("branch", "--show-current") !== branch) git("checkout", "--quiet", branch)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    git("add", "--all")
    git("commit", "--quiet", "--message", "Change")
    return git("rev-parse", "HEAD")
  }
  return { folder, url: `file://${folder}`, git, commit, first: commit("main", { "readme.md": "first\n" }) }
})

export const threadId = (number: number) => ThreadId.make(`01890a5d-ac96-774b-bcce-${String(number).padStart(12, "0")}`)

export const copiesOf = (url: string, more: Partial<Repository> = {}): Repository => ({
  ...{ url, include: [], setup: undefined, setupTimeout: Duration.minutes(1), submodules: false, lfs: false },
  ...{ keep: Duration.days(7), disk: 1e9, push: false, ...more }
})

/** What a prompt asks for is a script of a shell. */
const shell = { command: "sh", args: ["-c", 'eval "$(cat)"'] }

/** A leader of such an agent; `send` sends a script, and gives the reply. */
export const leading = (
  workspace: WorkspaceOptions,
  place: Pick<Command.CommandOptions, "folder" | "user" | "workspaces"> & { readonly team?: TeamName }
) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const replies = yield* Queue.unbounded<Reply>()
    const activities: Array<string> = []
    yield* bus.consume((some) => Effect.asVoid(Queue.offerAll(replies, some)), {
      correlation: byRunId,
      progress: ({ activity }) => void activities.push(activity ?? "")
    })
    const its = place.team ?? team
    yield* Command.start({ team: its, ...shell, workspace, ...place })
    yield* untilEffect(
      "the leader leads",
      Effect.map(bus.queue(its), ({ consumers }) => consumers === 1)
    )
    const publish = (script: string, fields: Partial<Prompt> = {}) =>
      Effect.tap(makePrompt({ team: its, prompt: script, ...fields }), bus.publish)
    const end = Effect.repeat(Queue.take(replies), {
      until: ({ _tag }: Reply) => _tag === "Answered" || _tag === "Failed"
    })
    const send = (script: string, fields: Partial<Prompt> = {}) => Effect.andThen(publish(script, fields), end)
    return { activities, bus, end, publish, send }
  })

export const inThread = (number: number, workspace_ref?: string): Partial<Prompt> => ({
  thread: { id: threadId(number) },
  ...(workspace_ref !== undefined && { agent: { workspace_ref } })
})

/** The folders of the team's threads and runs. */
export const foldersOf = (workspaces: string, its: string = team): ReadonlyArray<string> => {
  try {
    return readdirSync(join(workspaces, "folders", its))
  } catch {
    return []
  }
}

export const response = (text: string) => ({ _tag: "Answered", response: text })
export const failed = (message: string) => ({ _tag: "Failed", message: expect.stringContaining(message) })

/** Git refuses submodules that are paths, unless it is told. */
export const withFileSubmodules = Effect.gen(function* () {
  process.env.GIT_CONFIG_COUNT = "1"
  process.env.GIT_CONFIG_KEY_0 = "protocol.file.allow"
  process.env.GIT_CONFIG_VALUE_0 = "always"
  yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env.GIT_CONFIG_COUNT))
})
