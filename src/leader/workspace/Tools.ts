/** The programs that prepare folders: git, and a few of the system's. They run as the agent does, and nobody can be asked. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { LeaderError } from "../Leader.ts"
import { type Place, withoutPrompt } from "../Place.ts"
import { type Output, runProgram, wholeText } from "../Program.ts"

/** Variables that would lead git elsewhere, as when the leader itself was started by git. */
const elsewhere = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
  "GIT_NAMESPACE"
]

/** Credentials come from git's own helpers. Large files are fetched by `git lfs pull`, and only if the operator wants them. */
const environmentOf = (place: Place) => ({
  ...withoutPrompt(place),
  ...Object.fromEntries(elsewhere.map((name) => [name, undefined])),
  GIT_TERMINAL_PROMPT: "0",
  GIT_LFS_SKIP_SMUDGE: "1",
  LC_ALL: "C"
})

/**
 * Nothing that an agent has written may run here: neither hooks nor programs that its submodules' configurations name.
 * A mirror's objects are never removed, as copies use them, and nothing goes on there in the background.
 */
const always = [
  ...["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "push.recurseSubmodules=no"],
  ...["gc.pruneExpire=never", "gc.autoDetach=false"]
]

/** A URL may have a password. */
const withoutPasswords = (text: string): string => text.replaceAll(/(:\/\/)[^/@\s]*@/g, "$1")

/** A remote that hangs must not hold up the others that wait for the lock of its mirror. */
const longest = "15 minutes"

/** How the message of a git that took too long ends. */
export const tookTooLong = `it did not end within ${longest}`

export interface Tools {
  /** Runs a program, and returns its output. */
  readonly run: (command: string, ...args: ReadonlyArray<string>) => Effect.Effect<string, LeaderError>
  /** The same of git; the failure says what of. `env`: more variables. */
  readonly git: (
    args: ReadonlyArray<string>,
    env?: Readonly<Record<string, string>>
  ) => Effect.Effect<string, LeaderError>
}

/** In the place's folder. */
export const inPlace = (place: Place): Tools => {
  const env = environmentOf(place)
  return {
    run: (command, ...args) => runProgram({ ...place, command, args, env, input: "" }, wholeText()),
    git: (args, more) =>
      runProgram(
        {
          ...place,
          command: "git",
          args: [...always.flatMap((setting) => ["-c", setting]), ...args],
          env: { ...env, ...more },
          input: ""
        },
        wholeText()
      ).pipe(
        Effect.timeoutOrElse({
          duration: longest,
          orElse: () => Effect.fail(new LeaderError({ message: tookTooLong }))
        }),
        Effect.mapError(
          ({ message }) => new LeaderError({ message: withoutPasswords(`git ${args[0]} failed: ${message}`) })
        )
      )
  }
}

/** Removes the folder, with what was made read-only in it, as Go's module cache. */
export const remove = ({ run }: Tools, folder: string): Effect.Effect<string, LeaderError> =>
  run("sh", "-c", 'rm -rf "$1" 2>/dev/null || { chmod -R u+rwX "$1" 2>/dev/null; rm -rf "$1"; }', "sh", folder)

/** In the name of a folder that was set aside. */
const aside = ".set-aside-"

export const isAside = (name: string): boolean => name.includes(aside)

/** Removes a thread's folder. With files of another user, as an agent's container writes them, it is renamed to make way. */
export const makeWay = (tools: Tools, folder: string): Effect.Effect<void, LeaderError> =>
  Effect.catch(remove(tools, folder), (failure) => {
    const place = `${folder}${aside}${randomUUID()}`
    const [why] = failure.message.split("\n")
    const told = Effect.logWarning(
      `a thread's folder could not be removed (${why}). It is set aside, and takes disk from the other copies until you remove it as root: rm -rf '${place}'`
    )
    return Effect.andThen(
      Effect.mapError(tools.run("mv", "--", folder, place), () => failure),
      told
    )
  })

/** Removes what a killed git has left in the repository, in which nothing else works now. */
export const unlock = ({ run }: Tools, repository: string): Effect.Effect<void> =>
  Effect.ignore(
    run(
      "find",
      repository,
      ...["-type", "f", "(", "-name", "*.lock", "-o", "-path", "*/objects/*/tmp_*", ")"],
      ...["-exec", "rm", "-f", "{}", "+"]
    )
  )

/** How much of an output is kept for a failure's message. */
const keptOutput = 2048

/** For a program whose output matters only if it fails. */
export const onlyFailure = (what: string): Output<void> => {
  let end = Buffer.alloc(0)
  return {
    write: (chunk) => {
      end = Buffer.concat([end, chunk]).subarray(-keptOutput)
      return true
    },
    isDone: () => false,
    result: ({ errors, status }) => {
      if (status === "exit code 0") return Effect.void
      const said = errors === "" ? end.toString().trim() : errors
      return new LeaderError({ message: `${what} failed with ${status}${said === "" ? "" : `: ${said}`}` })
    }
  }
}
