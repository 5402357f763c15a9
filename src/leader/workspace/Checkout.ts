/** A thread's own copy of a repository: how it is made, how it follows the ref, and what the agent has changed in it. */
import { lstatSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { Duration, Effect, Option, Result } from "effect"
import type { WorkspaceReport } from "../../domain/run/AgentReport.ts"
import type { Task } from "../agents/Agent.ts"
import { LeaderError } from "../Leader.ts"
import { environment, type Place } from "../Place.ts"
import { runProgram } from "../Program.ts"
import type { Commit } from "./Mirror.ts"
import * as Tools from "./Tools.ts"
import type { Repository } from "./Workspace.ts"

/** The state of a copy when it was set up, which an agent may have changed since. */
export interface Made {
  /** Git's configuration. */
  readonly config: string
  /** The files that tell git what to run in submodules, with their hashes; none if git does not go there, or they have strange names. */
  readonly modules?: string | undefined
}

interface Checkout {
  readonly repository: Repository
  /** Its folder is the copy's. */
  readonly place: Place & { readonly folder: string }
  /** The folder with the files to copy in. */
  readonly included: string
  readonly branch: string
  /** Absent: it is being made. */
  readonly made?: Made
  readonly task: Pick<Task, "progress" | "prompt">
}

/**
 * The configuration can name programs that git runs, so what an agent has written there must not count: it may be allowed to
 * edit files, but not to run programs. Without `GIT_DIR`, git would also take the folder itself for a bare repository.
 */
const restore = `
[ -d .git ] && [ ! -L .git ] || { echo "its .git was replaced" >&2; exit 1; }
rm -rf .git/config .git/config.worktree .git/commondir && printf "%s\\n" "$1" > .git/config`

const toolsOf = ({ made, place }: Checkout): Tools.Tools => {
  const { git, run } = Tools.inPlace(place)
  const restored = made === undefined ? Effect.void : run("sh", "-c", restore, "sh", made.config)
  return {
    run,
    git: (args, more) => Effect.andThen(restored, git(args, { GIT_DIR: join(place.folder, ".git"), ...more }))
  }
}

/** A copy whose mirror was found damaged and replaced reads the new one's objects first. */
const shareFirst = `
f=.git/objects/info/alternates
[ ! -f $f ] || [ "$(head -n 1 $f)" = "$1" ] || { { printf "%s\\n" "$1"; cat $f; } > $f.new && mv -f $f.new $f; }`

export const share = ({ place }: Checkout, { mirror }: Commit): Effect.Effect<void> =>
  Effect.ignore(Tools.inPlace(place).run("sh", "-c", shareFirst, "sh", join(mirror, "objects")))

/** A repository in the copy, such as a submodule, has a configuration of its own, so git must not start there. */
const ignoreInside = "--ignore-submodules=dirty"

/** The commit that is checked out; none if the folder is no repository. */
export const headOf = (checkout: Checkout): Effect.Effect<Option.Option<string>> =>
  Effect.option(toolsOf(checkout).git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]))

/** The repositories in a copy. Not all files, which may be too many to read. */
const onlyInner = "sed -n 's/^160000 [^\t]*\t//p'"
const withPlainNames = ["-c", "core.quotePath=false"]

/** Names each file that git would read to find a submodule and its configuration, with its hash. `$@`: the submodules. */
const listModules = `!list() {
  root=$(pwd -P)
  for path; do
    [ -d "./$path" ] || continue
    if [ "$(cd -P "./$path" && pwd -P)" = "$root/$path" ]; then find "./$path" -name .git -prune; else echo "$path"; fi
  done
  [ ! -e .git/modules ] || find .git/modules "(" -type l -o -name config -o -name config.worktree -o -name commondir ")"
}
each() {
  list "$@" | LC_ALL=C sort | while IFS= read -r file; do
    if [ -f "$file" ] && [ ! -L "$file" ]; then hash=$(git hash-object --no-filters -- "$file"); else hash=none; fi
    echo "$hash $file"
  done
}
each`

/** The changeable state of these commits' submodules; none if they have strange names, or git does not go there. */
const modulesOf = (
  checkout: Checkout,
  ...commits: ReadonlyArray<string>
): Effect.Effect<string | undefined, LeaderError> =>
  Effect.gen(function* () {
    if (!checkout.repository.submodules) return undefined
    const { git } = toolsOf(checkout)
    const lists = yield* Effect.forEach(commits, (commit) =>
      git([...withPlainNames, "-c", `alias.inner=!git ls-tree -r --full-tree ${commit} | ${onlyInner}`, "inner"])
    )
    if (lists.some((list) => list.includes('"'))) return undefined
    const paths = new Set(lists.flatMap((list) => list.split("\n")).filter((path) => path !== ""))
    return yield* git(["-c", `alias.modules=${listModules}`, "modules", ...paths])
  })

/** Makes the copy anew. It shares the mirror's objects, but has branches, a configuration and hooks of its own. */
export const make = (checkout: Checkout, { mirror, sha }: Commit): Effect.Effect<Made, LeaderError> =>
  Effect.gen(function* () {
    const { place, repository } = checkout
    const above = Tools.inPlace({ ...place, folder: dirname(place.folder) })
    yield* Tools.makeWay(above, place.folder)
    yield* above.git([
      "clone",
      "--quiet",
      "--shared",
      "--no-checkout",
      "--config",
      "gc.auto=0",
      "--",
      mirror,
      place.folder
    ])
    yield* toolsOf(checkout).git(["remote", "set-url", "--", "origin", repository.url])
    yield* checkOut(checkout, sha)
    yield* include(checkout)
    yield* setUp(checkout)
    const config = yield* above.run("cat", join(place.folder, ".git/config"))
    return { config, modules: yield* modulesOf(checkout, sha) }
  })

/**
 * Moves the copy to the commit, and keeps what was done in it: with changes or commits that the new commit does not have, it
 * stays. Returns why it stays, or what it has now.
 *
 * @param isMoving a move has begun and did not end, as its setup failed. Nobody has worked in the folder since
 * @param begin remembers that a move begins
 */
export const move = (
  checkout: Checkout & { readonly made: Made },
  { mirror, sha }: Commit,
  { base, isMoving, begin }: Readonly<{ base: string; isMoving: boolean; begin: Effect.Effect<void, LeaderError> }>
): Effect.Effect<string | Made, LeaderError> =>
  Effect.gen(function* () {
    const { made } = checkout
    const { git } = toolsOf(checkout)
    const fetched = yield* Effect.result(
      git([
        "fetch",
        "--quiet",
        "--no-recurse-submodules",
        "--prune",
        "--force",
        mirror,
        "+refs/heads/*:refs/remotes/origin/*"
      ])
    )
    if (isMoving) yield* checkOut(checkout, sha, "--force")
    else if (sha === base) return made
    else {
      const stays = (why: string) =>
        `The ref moved to ${sha.slice(0, 12)}, but the folder ${why}, so it stays at ${base.slice(0, 12)}.`
      if (Result.isFailure(fetched)) return stays(`cannot be updated (${fetched.failure.message})`)
      const status = yield* git(["status", "--porcelain", "--untracked-files=no", ignoreInside])
      if (status !== "") return stays("has uncommitted changes")
      // The agent may have left the branch, which is about to be moved.
      const branch = yield* git(["for-each-ref", "--format=%(objectname)", `refs/heads/${checkout.branch}`])
      for (const head of new Set([yield* git(["rev-parse", "HEAD"]), branch || base])) {
        const isContained = head === base || (yield* Effect.isSuccess(git(["merge-base", "--is-ancestor", head, sha])))
        if (!isContained) return stays("has commits of its own")
      }
      const modules = yield* Effect.result(modulesOf(checkout, base, sha))
      if (Result.isFailure(modules)) return stays(`cannot be updated (${modules.failure.message})`)
      if (checkout.repository.submodules) {
        // It was made without `--workspace-submodules`, or their names are strange.
        if (made.modules === undefined) return stays("has no record of its submodules' settings at its start")
        if (modules.success !== made.modules) return stays("has other settings of submodules than at its start")
      }
      yield* begin
      const moved = yield* Effect.result(checkOut(checkout, sha))
      if (Result.isFailure(moved)) return stays(`cannot be updated (${moved.failure.message})`)
    }
    yield* setUp(checkout)
    return { ...made, modules: yield* modulesOf(checkout, sha) }
  })

const checkOut = (checkout: Checkout, sha: string, ...options: ReadonlyArray<string>) =>
  toolsOf(checkout).git(["checkout", "--quiet", ...options, "-B", checkout.branch, sha, "--"])

/** Copies the operator's files in, and hides them from git. The repository's links must not lead the copy elsewhere. */
const include = (checkout: Checkout) =>
  Effect.gen(function* () {
    const { included, place, repository } = checkout
    const { run } = toolsOf(checkout)
    for (const path of repository.include) {
      const [from, to] = [resolve(included, path), resolve(place.folder, path)]
      if (leadsElsewhere(place.folder, to)) {
        return yield* new LeaderError({
          message: `${path} cannot be copied in: the repository has a symbolic link there. Remove it, or the \`--workspace-include\``
        })
      }
      yield* run("mkdir", "-p", dirname(to))
      yield* Effect.mapError(
        run("cp", "-R", from, dirname(to)),
        ({ message }) => new LeaderError({ message: `${path} cannot be copied in: ${message}` })
      )
      const exclude = join(place.folder, ".git/info/exclude")
      yield* run(
        "sh",
        "-c",
        'mkdir -p "$(dirname "$2")" && printf "/%s\\n" "$1" >> "$2"',
        "sh",
        relative(".", path),
        exclude
      )
    }
  })

const leadsElsewhere = (folder: string, path: string): boolean =>
  relative(folder, path)
    .split(sep)
    .some((_, index, names) =>
      lstatSync(join(folder, ...names.slice(0, index + 1)), { throwIfNoEntry: false })?.isSymbolicLink()
    )

/** The steps after each checkout. */
const setUp = (checkout: Checkout) =>
  Effect.gen(function* () {
    const { lfs, setup, setupTimeout, submodules } = checkout.repository
    const { git } = toolsOf(checkout)
    if (submodules) yield* git(["submodule", "update", "--quiet", "--init", "--recursive"])
    if (lfs) yield* git(["lfs", "pull"])
    if (setup === undefined) return
    const { place, task } = checkout
    const option = "The command of `--workspace-setup`"
    task.progress({ activity: `Setting up: ${setup}` })
    const ended = yield* runProgram(
      { ...place, command: "sh", args: ["-c", setup], env: environment(task.prompt, place), input: "" },
      Tools.onlyFailure(option)
    ).pipe(Effect.timeoutOption(setupTimeout))
    if (Option.isSome(ended)) return
    const limit = Duration.format(setupTimeout)
    return yield* new LeaderError({
      message: `${option} did not end within ${limit}. Fix it, or raise \`--workspace-setup-timeout\``
    })
  })

/** A large folder must not delay the answer for long. */
const measureTimeout = "20 seconds"

/** The folder's differences from the base, committed or not, in tracked and new files. */
export const measure = (checkout: Checkout, base: string): Effect.Effect<WorkspaceReport> =>
  Effect.gen(function* () {
    const { git, run } = toolsOf(checkout)
    const head = Option.getOrElse(yield* headOf(checkout), () => base)
    const index = { GIT_INDEX_FILE: join(checkout.place.folder, ".git/webhook-index") }
    yield* run("cp", ".git/index", ".git/webhook-index")
    // `add` would start git in them.
    const inner = yield* git(
      [...withPlainNames, "-c", `alias.inner=!git ls-files --stage | ${onlyInner}`, "inner"],
      index
    )
    const without = inner.split("\n").flatMap((path) => (path === "" ? [] : [`:(exclude,literal)${path}`]))
    if (inner.includes('"')) return yield* new LeaderError({ message: "a repository in it has a strange name" })
    yield* git(["add", "--intent-to-add", "--", ".", ...without], index)
    const text = yield* git(["diff", "--shortstat", "--no-ext-diff", "--no-textconv", ignoreInside, base, "--"], index)
    const count = (what: RegExp) => Number(what.exec(text)?.[1] ?? 0)
    const [files, insertions] = [count(/(\d+) files? changed/), count(/(\d+) insertions?/)]
    return { base, head, files, insertions, deletions: count(/(\d+) deletions?/) }
  }).pipe(
    Effect.timeoutOption(measureTimeout),
    Effect.map(Option.getOrElse((): WorkspaceReport => ({ base }))),
    Effect.catch(({ message }) =>
      Effect.succeed<WorkspaceReport>({ base, note: `The changes were not counted: ${message}` })
    )
  )

/** The answer waits for it. */
const pushTimeout = "1 minute"

/** Pushes the branch if it has commits of its own. Returns what the report says of it. */
export const push = (
  { branch, repository, ...checkout }: Checkout,
  { base, head = base }: WorkspaceReport
): Effect.Effect<Pick<WorkspaceReport, "branch" | "note">> =>
  head === base
    ? Effect.succeed({})
    : toolsOf({ branch, repository, ...checkout })
        .git(["push", "--quiet", "--", repository.url, `HEAD:refs/heads/${branch}`])
        .pipe(
          Effect.timeoutOrElse({
            duration: pushTimeout,
            orElse: () => Effect.fail(new LeaderError({ message: `git push did not end within ${pushTimeout}` }))
          }),
          Effect.as({ branch }),
          Effect.catch(({ message }) => Effect.succeed({ note: `The branch ${branch} was not pushed: ${message}` }))
        )
