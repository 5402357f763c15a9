/** The folder in which an agent works on a prompt: one that is given, or a clean copy of a repository for each thread. */
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join, resolve } from "node:path"
import { Clock, Duration, Effect, Exit, Option, Result, Schedule, type Scope, Semaphore } from "effect"
import type { TeamName } from "../../domain/Team.ts"
import type { Task } from "../agents/Agent.ts"
import { LeaderError } from "../Leader.ts"
import type { Place } from "../Place.ts"
import * as Checkout from "./Checkout.ts"
import * as Lock from "./Lock.ts"
import * as Mirror from "./Mirror.ts"
import * as Tools from "./Tools.ts"

/** A repository; each thread gets a copy of it. */
export interface Repository {
  readonly url: string
  /** Files to copy from the agent's own folder, by their relative paths. */
  readonly include: ReadonlyArray<string>
  /** A shell's command, run after each checkout. */
  readonly setup: string | undefined
  readonly setupTimeout: Duration.Duration
  readonly submodules: boolean
  readonly lfs: boolean
  /** How long after its last run a folder is removed. */
  readonly keep: Duration.Duration
  /** How many bytes the team's folders may have; the one unused for longest is removed first. */
  readonly disk: number
  /** Pushes the branch after each run that was answered. */
  readonly push: boolean
}

/** A folder that is given is only locked. */
export type WorkspaceOptions = { readonly folder: string } | Repository

/** Where and as whom the team's agent works. */
interface WorkspacePlace extends Place {
  readonly team: TeamName
  readonly workspace?: WorkspaceOptions
  /** The folder with the repositories' mirrors and the folders of all teams. */
  readonly workspaces?: string
}

export interface Workspace {
  /** Works in the prompt's folder, which nobody else works in until then. */
  readonly use: <A>(task: Task, work: (place: Place) => Effect.Effect<A, LeaderError>) => Effect.Effect<A, LeaderError>
}

/** The workspace of the team's leader, if it has one. Folders are removed while the scope is open. */
export const make = (place: WorkspacePlace): Effect.Effect<Workspace | undefined, never, Scope.Scope> => {
  const { workspace } = place
  if (workspace === undefined) return Effect.succeed(undefined)
  return "folder" in workspace ? given(workspace.folder, place) : copies(workspace, place)
}

const holderOf = ({ run_id, team }: Task["prompt"]) => `run ${run_id} of the team ${team}`

const onWaitOf =
  ({ progress }: Task) =>
  (holder: string) =>
    progress({ activity: `Waiting for the folder: used by ${holder}` })

/** In a folder that an agent of another user can change, what the leader reads must be its own. */
const checkOwner = (folder: string) =>
  Effect.try({
    try: () => {
      try {
        mkdirSync(folder, { mode: 0o700 })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
      }
      const found = lstatSync(folder)
      if (!found.isDirectory() || found.uid !== process.geteuid?.()) throw new Error("it belongs to another user")
      // Keeps it out of a repository's status.
      writeFileSync(join(folder, ".gitignore"), "*\n")
    },
    catch: (error) => new LeaderError({ message: `${folder} cannot be used: ${(error as Error).message}` })
  })

const given = (folder: string, place: Place): Effect.Effect<Workspace> => {
  const lock = join(folder, ".webhook-trigger")
  const use: Workspace["use"] = (task, work) =>
    Effect.gen(function* () {
      yield* checkOwner(lock)
      const held = yield* Lock.hold(lock, holderOf(task.prompt), { onWait: onWaitOf(task) })
      return yield* Lock.during(held, work({ ...place, folder, remembered: held.programs }))
    }).pipe(Effect.scoped)
  // Ends an agent that a crash has left at work.
  const endLeft = Effect.scoped(Effect.andThen(checkOwner(lock), Lock.tryHold(lock, "the start of a leader")))
  return Effect.as(Effect.ignore(endLeft), { use })
}

/** The facts about a folder once it is complete. Without them, the folder is made anew. */
interface State extends Checkout.Made {
  readonly url: string
  /** The commit that was checked out and set up last. */
  readonly base: string
  /** It is moved to another commit, or the setup after that has failed. */
  readonly isMoving: boolean
  /** Whether it belongs to a run without a thread, and ends with it. */
  readonly once: boolean
  /** When its last run began or ended, in milliseconds. */
  readonly used: number
}

const readState = (lock: string): State | undefined => {
  try {
    return JSON.parse(readFileSync(join(lock, "state.json"), "utf8"))
  } catch {
    return undefined
  }
}

const writeState = (lock: string, state: State): void => {
  const written = join(lock, "state.json.new")
  writeFileSync(written, JSON.stringify(state), { mode: 0o600 })
  renameSync(written, join(lock, "state.json"))
}

/** Git's messages when it cannot read a repository, as after a crash. The copy's mirror may be the cause. */
const isUnreadable =
  /(?:^|\()git (?:clone|checkout|fetch) failed: [\s\S]*(?:object|corrupt|packfile|packed-refs|unable to read|not a tree|inflate|repository)/i

const lostFolder =
  "The conversation's folder was made anew, because its .git was removed or cannot be read. Work that was not pushed is lost."

/** How often folders are looked for whose time is over. */
const removalInterval = Duration.hours(1)

const copies = (repository: Repository, place: WorkspacePlace): Effect.Effect<Workspace, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { team, user, workspaces = resolve(".workspaces") } = place
    const [mirrors, mirrorLocks] = [join(workspaces, "mirrors"), join(workspaces, "locks/mirrors")]
    // Only the leader writes the locks and states, only the agent's user the folders.
    const [folders, locks] = [join(workspaces, "folders", team), join(workspaces, "locks/folders", team)]
    const makeFolders = Effect.try({
      try: () => {
        mkdirSync(join(workspaces, "folders"), { recursive: true, mode: 0o711 })
        mkdirSync(locks, { recursive: true, mode: 0o700 })
        for (const folder of [mirrors, folders]) {
          mkdirSync(folder, { recursive: true, mode: 0o700 })
          if (user) chownSync(folder, user.uid, user.gid)
        }
      },
      catch: (error) => new LeaderError({ message: `The folders of threads cannot be created: ${error}` })
    })
    const upkeep = yield* removing(repository, place, folders, locks)
    yield* Effect.forkScoped(Effect.repeat(upkeep, Schedule.spaced(removalInterval)))
    const scope = yield* Effect.scope

    const use = <A>(task: Task, work: (place: Place) => Effect.Effect<A, LeaderError>) =>
      Effect.gen(function* () {
        const { prompt } = task
        const { url } = repository
        const id = prompt.thread?.id ?? prompt.run_id
        yield* makeFolders
        const [folder, lock, who] = [join(folders, id), join(locks, id), holderOf(prompt)] as const
        const held = yield* Lock.hold(lock, who, { onWait: onWaitOf(task) })
        const inside = { ...place, folder, remembered: held.programs }
        const included = place.folder ?? process.cwd()
        const checkout = { repository, place: inside, included, branch: `webhook/${id}`, task }
        const remember = (made: Checkout.Made, base: string, isMoving = false) =>
          Effect.flatMap(Clock.currentTimeMillis, (used) =>
            Effect.try({
              try: () => {
                if (!held.isMine()) throw new Error("another process has taken it")
                writeState(lock, { ...made, url, base, isMoving, used, once: prompt.thread === undefined })
              },
              catch: (error) => new LeaderError({ message: `The state of the folder cannot be stored: ${error}` })
            })
          )

        const prepare = Effect.gen(function* () {
          task.progress({ activity: "Preparing the folder" })
          const state = readState(lock)
          const kept =
            state?.url === url && state.config !== undefined && !state.once
              ? { ...checkout, made: { config: state.config, modules: state.modules } }
              : undefined
          const asked = prompt.agent?.workspace_ref
          const commitOf = (suspect?: Mirror.Commit) =>
            Mirror.commitOf({
              ...{ mirrors, locks: mirrorLocks, url, place, who, ...(suspect && { suspect }) },
              // A reply in a conversation names none.
              ...{ ref: asked ?? (kept && state?.base), orHead: asked === undefined },
              onWait: (holder) => task.progress({ activity: `Waiting for the repository: being fetched for ${holder}` })
            })
          const commit = yield* commitOf()
          if (kept !== undefined) yield* Checkout.share(kept, commit)
          const isKept = kept !== undefined && Option.isSome(yield* Checkout.headOf(kept))
          /** Uses the commit, and if its mirror is damaged, that of a new one: once in a run. */
          const using = <A>(
            use: (commit: Mirror.Commit) => Effect.Effect<A, LeaderError>,
            whyNot: (used: A) => string
          ) =>
            Effect.gen(function* () {
              const told = (commit: Mirror.Commit) =>
                Effect.mapError(use(commit), (failure) =>
                  commit.note === undefined
                    ? failure
                    : new LeaderError({ message: `${commit.note} ${failure.message}` })
                )
              const first = yield* Effect.result(told(commit))
              const failed = Result.match(first, { onFailure: ({ message }) => message, onSuccess: whyNot })
              if (commit.note === undefined && isUnreadable.test(failed)) {
                const other = yield* commitOf(commit)
                if (kept !== undefined) yield* Checkout.share(kept, other)
                if (other.mirror !== commit.mirror) return [yield* told(other), other] as const
              }
              return [yield* Effect.fromResult(first), commit] as const
            })
          if (!isKept) {
            rmSync(join(lock, "state.json"), { force: true })
            const [made, { note, sha }] = yield* using(
              (commit) => Checkout.make(checkout, commit),
              () => ""
            )
            yield* remember(made, sha)
            const lost = kept === undefined ? [] : lostFolder
            return { made, base: sha, notes: [note ?? [], lost].flat() }
          }
          yield* Tools.unlock(Tools.inPlace(inside), join(folder, ".git"))
          const begin = Effect.suspend(() => remember(kept.made, state!.base, true))
          const [moved, { note, sha }] = yield* using(
            // Without a ref, it stays where it is.
            ({ mirror, sha }) =>
              Checkout.move(kept, { mirror, sha: asked === undefined ? state!.base : sha }, { ...state!, begin }),
            (moved) => (typeof moved === "string" ? moved : "")
          )
          if (typeof moved === "string" && prompt.agent?.workspace_exact === true) {
            return yield* new LeaderError({
              message: `This run was approved for one commit, which its folder cannot be moved to. ${moved} Push or discard that work, or reset the conversation`
            })
          }
          const made = typeof moved === "string" ? kept.made : moved
          const base = typeof moved === "string" || asked === undefined ? state!.base : sha
          yield* remember(made, base)
          return { made, base, notes: [note ?? [], typeof moved === "string" ? moved : []].flat() }
        })

        const { base, made, notes } = yield* prepare
        const worked = { ...checkout, made }
        for (const note of notes) {
          task.progress({ activity: note, steps: [{ kind: "file", status: "failed", title: note, detail: note }] })
        }
        const note = notes.length === 0 ? undefined : notes.join(" ")
        const finish = (exit: Exit.Exit<unknown, unknown>) =>
          Effect.gen(function* () {
            const found = yield* Checkout.measure(worked, base)
            const pushed = repository.push && Exit.isSuccess(exit) ? yield* Checkout.push(worked, found) : {}
            task.report({ workspace: { ...found, ...(note !== undefined && { note }), ...pushed } })
            yield* Effect.ignore(remember(made, base))
          })
        return yield* Lock.during(held, Effect.onExit(work(inside), finish))
      }).pipe(Effect.scoped, Effect.ensuring(Effect.forkIn(upkeep, scope)))

    return { use }
  })

/** Removes folders: of ended runs without a thread, incomplete ones, those whose time is over, and the oldest of too many. */
const removing = (repository: Repository, place: Place, folders: string, locks: string) =>
  Effect.gen(function* () {
    const tools = Tools.inPlace(place)
    const turns = yield* Semaphore.make(1)
    const keep = Duration.toMillis(repository.keep)
    const elsewhere = new Map<string, Lock.Seen | undefined>()
    const sizes = new Map<string, { readonly used: number; readonly bytes: number }>()

    /** A folder in use is left alone. What a crash has left at work there is ended before. */
    const removeIf = (id: string, isDue: (state: State | undefined) => boolean) => {
      const lock = join(locks, id)
      return Effect.gen(function* () {
        const held = yield* Lock.tryHold(lock, "the removal of old folders")
        if (Option.isNone(held) || !isDue(readState(lock))) return
        rmSync(join(lock, "state.json"), { force: true })
        yield* Tools.makeWay(tools, join(folders, id))
        sizes.delete(id)
        elsewhere.delete(id)
        rmSync(held.value.programs, { recursive: true, force: true })
      }).pipe(
        Effect.scoped,
        Effect.tap(Effect.ignore(Effect.try(() => rmdirSync(lock)))),
        // The others are removed.
        Effect.catch(({ message }) => Effect.logWarning(`the folder ${id} was not removed: ${message}`))
      )
    }

    const bytesOf = (id: string, used: number) => {
      const known = sizes.get(id)
      if (known?.used === used) return Effect.succeed(known.bytes)
      return Effect.map(
        // An agent at work may delete what is about to be read; the sum is printed all the same.
        tools.run("sh", "-c", 'du -sk "$1" 2>/dev/null || true', "sh", join(folders, id)),
        (text) => {
          const bytes = (Number.parseInt(text, 10) || 0) * 1024
          sizes.set(id, { used, bytes })
          return bytes
        }
      )
    }

    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const isOver = (state: State | undefined) => state === undefined || state.once || state.used + keep <= now
      for (const id of namesIn(locks)) {
        const lock = join(locks, id)
        elsewhere.set(id, Lock.removeSilent(lock, elsewhere.get(id), now, removalInterval))
        if (isOver(readState(lock)) || Lock.isLeft(lock)) yield* removeIf(id, isOver)
      }
      const kept = namesIn(locks).flatMap((id) => {
        const state = readState(join(locks, id))
        return state === undefined ? [] : [{ id, used: state.used }]
      })
      kept.sort((a, b) => b.used - a.used)
      let left = repository.disk
      for (const name of namesIn(folders).filter(Tools.isAside)) {
        const isLeft = Effect.isFailure(Tools.remove(tools, join(folders, name)))
        if (yield* isLeft) left -= yield* bytesOf(name, 0)
      }
      for (const { id, used } of kept) {
        left -= yield* bytesOf(id, used)
        if (left < 0) yield* removeIf(id, (state) => state?.used === used)
      }
    }).pipe(
      Effect.catch(({ message }) => Effect.logWarning(`folders of threads were not removed: ${message}`)),
      turns.withPermits(1)
    )
  })

const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
