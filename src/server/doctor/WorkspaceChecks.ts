import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Duration, Effect, Result } from "effect"
import { LeaderError } from "../../leader/Leader.ts"
import * as Tools from "../../leader/workspace/Tools.ts"
import type { Repository, WorkspaceOptions } from "../../leader/workspace/Workspace.ts"
import { type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = ["workspace git", "workspace repository", "workspace folder"]
const readTimeout = Duration.seconds(30)

/** Why nothing can be written in the folder, or where it will be created. */
const faultOf = (folder: string): string | undefined => {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return statSync(folder).isDirectory() ? undefined : `${folder} is no folder`
  } catch (error) {
    return (error as Error).message
  }
}

const nearest = (folder: string): string => (existsSync(folder) ? folder : nearest(dirname(folder)))

const copies = ({ lfs, url }: Repository, timeout: Duration.Duration): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const { git } = Tools.inPlace({})
    const version = yield* Effect.result(Effect.tap(git(["--version"]), lfs ? git(["lfs", "version"]) : Effect.void))
    if (Result.isFailure(version)) {
      const what = lfs ? "git and git-lfs" : "git"
      return failedAt(names, 0, oneLine(version.failure.message), `Install ${what} where the leader runs.`)
    }
    const read = yield* Effect.result(
      Effect.timeoutOrElse(git(["ls-remote", "--quiet", "--", url, "HEAD"]), {
        duration: timeout,
        orElse: () => Effect.fail(new LeaderError({ message: `no answer within ${Duration.format(timeout)}` }))
      })
    )
    if (Result.isFailure(read)) {
      const help =
        "Correct the address of --workspace, and set up git's access for the leader's user, such as a credential helper or an SSH key: git never asks for a password."
      return failedAt(names, 1, oneLine(read.failure.message), help, [version.success])
    }
    const folder = resolve(".workspaces")
    const fault = faultOf(nearest(folder))
    const found = [version.success, undefined, folder]
    return fault === undefined
      ? passed(names, found)
      : failedAt(names, 2, oneLine(fault), "Let the leader's user write in the folder in which it runs.", found)
  })

const given = (folder: string): Examined => {
  const fault = faultOf(folder)
  const name = names.slice(2)
  return fault === undefined
    ? passed(name, [folder])
    : failedAt(name, 0, oneLine(fault), "Create the folder of --workspace, and let the leader's user write in it.")
}

/** Whether an agent can get its folder. Changes nothing. `timeout`: of the repository's answer. */
export const examineWorkspace = (workspace: WorkspaceOptions, timeout = readTimeout): Effect.Effect<Examined> =>
  "folder" in workspace ? Effect.sync(() => given(workspace.folder)) : copies(workspace, timeout)
