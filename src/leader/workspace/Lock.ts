/** One agent in a folder: a lock between the processes of a machine, or of several machines with a shared disk. */
import { randomUUID } from "node:crypto"
import { linkSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { readFile, utimes } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Deferred, Duration, Effect, Option, Schedule, type Scope } from "effect"
import { bornAt } from "../../runtime/Processes.ts"
import { LeaderError } from "../Leader.ts"
import * as ProcessGroup from "../ProcessGroup.ts"

interface Lock {
  /** Where the programs that work under the lock are remembered: the next holder ends those that a crash has left. */
  readonly programs: string
  /** Fails when another process has taken the lock, as after this one stood still for long. */
  readonly lost: Effect.Effect<never, LeaderError>
  /** Whether it is held at this moment. */
  readonly isMine: () => boolean
}

/** The process that holds a lock, as its file says. */
interface Holder {
  /** The boot of the machine, and the container. Only there does `pid` mean this process. */
  readonly system: string
  readonly pid: number
  readonly born: string
  readonly token: string
  /** For people. */
  readonly who: string
}

const heartbeat = Duration.seconds(5)
/** How long the heartbeat of a holder elsewhere is absent before it counts as crashed. */
const silenceOfCrash = Duration.minutes(1)
const [shortestPause, longestPause] = [Duration.millis(20), Duration.millis(500)]
const stopOfLeft = { signal: "SIGTERM", grace: "5 seconds" } as const

const system = (): string => {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`
  } catch {
    return ""
  }
}

const fileIn = (folder: string) => join(folder, "lock")

const parse = (text: string): Partial<Holder> => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The holder, and its last heartbeat. The clocks of machines differ, so the time has a meaning only as it changes. */
const read = (file: string): (Partial<Holder> & { readonly beat: number }) | undefined => {
  try {
    return { ...parse(readFileSync(file, "utf8")), beat: statSync(file).mtimeMs }
  } catch {
    return undefined
  }
}

const isCrashed = (holder: Partial<Holder>): boolean =>
  holder.pid !== undefined && holder.system !== "" && holder.system === system() && bornAt(holder.pid) !== holder.born

/** Whether a process of this machine has crashed with the lock. */
export const isLeft = (folder: string): boolean => {
  const holder = read(fileIn(folder))
  return holder !== undefined && isCrashed(holder)
}

/** Marks a folder as this process's own, for `isLeft`. */
export const mark = (folder: string): void => {
  const mine = { system: system(), pid: process.pid, born: bornAt(process.pid) }
  writeFileSync(fileIn(folder), JSON.stringify(mine), { mode: 0o600 })
}

/** Removes the lock of a crashed holder, unless another process has done so and taken it. */
const removeLeft = (folder: string, token: string | undefined): void => {
  const file = fileIn(folder)
  const aside = `${file}-${randomUUID()}`
  try {
    renameSync(file, aside)
    if (read(aside)?.token !== token) linkSync(aside, file)
  } catch {
    // Another process was quicker. If it lost the lock by this, its next heartbeat shows it.
  }
  rmSync(aside, { force: true })
}

/** Takes the lock if nobody has it. The file appears with its contents, so no crash leaves one without. */
const take = (folder: string, mine: Holder): boolean => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const written = `${fileIn(folder)}-${mine.token}`
  try {
    writeFileSync(written, JSON.stringify(mine), { mode: 0o600, flag: "wx" })
    linkSync(written, fileIn(folder))
    return true
  } catch (error) {
    // The folder may have been removed with what it is for.
    if (["EEXIST", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) return false
    throw error
  } finally {
    rmSync(written, { force: true })
  }
}

const release = (folder: string, { token }: Holder): void => {
  if (read(fileIn(folder))?.token === token) rmSync(fileIn(folder), { force: true })
}

const tryTake = (folder: string, who: string): Effect.Effect<Option.Option<Holder>, LeaderError, Scope.Scope> => {
  const mine = { system: system(), pid: process.pid, born: bornAt(process.pid), token: randomUUID(), who }
  return Effect.try({
    try: () => {
      const holder = read(fileIn(folder))
      if (holder !== undefined && isCrashed(holder)) removeLeft(folder, holder.token)
      return take(folder, mine)
    },
    catch: (error) => new LeaderError({ message: `The folder cannot be locked: ${(error as Error).message}` })
  }).pipe(
    Effect.flatMap((isTaken) =>
      isTaken
        ? Effect.as(
            Effect.addFinalizer(() => Effect.sync(() => release(folder, mine))),
            Option.some(mine)
          )
        : Effect.succeedNone
    ),
    Effect.uninterruptible
  )
}

/** Shows that the holder lives, and notices when it has lost the lock. */
const held = (folder: string, mine: Holder): Effect.Effect<Lock, never, Scope.Scope> =>
  Effect.gen(function* () {
    const file = fileIn(folder)
    const lost = yield* Deferred.make<never, LeaderError>()
    const beat = Effect.promise(async () => {
      const holder = await readFile(file, "utf8").then(
        parse,
        (error): Partial<Holder> => (error.code === "ENOENT" ? {} : mine)
      )
      if (holder.token !== mine.token) return Option.some(holder.who ?? "another process")
      await utimes(file, new Date(), new Date()).catch(() => {})
      return Option.none<string>()
    })
    yield* beat.pipe(
      Effect.tap((other) =>
        Option.isNone(other)
          ? Effect.void
          : Deferred.fail(lost, new LeaderError({ message: `The folder was taken by ${other.value}` }))
      ),
      Effect.repeat({ schedule: Schedule.spaced(heartbeat), until: Option.isSome }),
      Effect.forkScoped
    )
    const programs = join(folder, "programs")
    yield* ProcessGroup.endLeft(programs, stopOfLeft)
    return { programs, lost: Deferred.await(lost), isMine: () => read(file)?.token === mine.token }
  })

/** A holder's heartbeat, and since when it has not changed. */
export interface Seen {
  readonly token?: string | undefined
  readonly beat?: number | undefined
  readonly since: number
}

/** The lock whose file is in the folder, until the scope closes; none if it is held. */
export const tryHold = (folder: string, who: string): Effect.Effect<Option.Option<Lock>, LeaderError, Scope.Scope> =>
  Effect.flatMap(
    tryTake(folder, who),
    Option.match({ onNone: () => Effect.succeedNone, onSome: (mine) => Effect.asSome(held(folder, mine)) })
  )

/**
 * Removes the lock of a holder elsewhere, as before the machine's last boot, whose heartbeat was absent for that long. Returns
 * what to pass at the next look; none if nobody elsewhere holds it.
 */
export const removeSilent = (folder: string, seen: Seen | undefined, now: number, silence: Duration.Duration) => {
  const holder = read(fileIn(folder))
  if (holder === undefined || holder.system === system()) return undefined
  const { beat, token } = holder
  if (token !== seen?.token || beat !== seen?.beat) return { token, beat, since: now }
  if (now - seen.since >= Duration.toMillis(silence)) removeLeft(folder, token)
  return seen
}

/**
 * Waits for the lock whose file is in the folder, and holds it until the scope closes. What a crashed holder has left at work
 * on this machine is ended first.
 *
 * @param who the holder, for people
 * @param onWait called with the current holder
 */
export const hold = (
  folder: string,
  who: string,
  {
    onWait,
    silence = silenceOfCrash
  }: { readonly onWait: (holder: string) => void; readonly silence?: Duration.Duration }
): Effect.Effect<Lock, LeaderError, Scope.Scope> =>
  Effect.gen(function* () {
    let seen: Seen = { since: 0 }
    let shown: string | undefined
    let pause = shortestPause
    while (true) {
      const taken = yield* tryTake(folder, who)
      if (Option.isSome(taken)) return yield* held(folder, taken.value)
      const now = yield* Clock.currentTimeMillis
      const { beat, token, who: other = "another process" } = read(fileIn(folder)) ?? {}
      // Upkeep holds it for moments, which need not be shown.
      if (token === seen.token && other !== shown) {
        shown = other
        onWait(other)
      }
      if (token !== seen.token || beat !== seen.beat) seen = { token, beat, since: now }
      else if (now - seen.since >= Duration.toMillis(silence)) removeLeft(folder, token)
      yield* Effect.sleep(pause)
      pause = Duration.min(Duration.times(pause, 2), longestPause)
    }
  })

/** Works while the lock is held; if it is lost, the work is interrupted. Returns only when the work has ended. */
export const during = <A>({ lost }: Lock, work: Effect.Effect<A, LeaderError>): Effect.Effect<A, LeaderError> =>
  Effect.raceFirst(work, lost)
