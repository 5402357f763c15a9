import { randomUUID } from "node:crypto"
import { link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Data, Effect, type Scope } from "effect"

/** The folder is in use by another process, or another part of this one. */
export class DataFolderInUse extends Data.TaggedError("DataFolderInUse")<{
  readonly folder: string
  readonly pid: number
}> {
  override get message() {
    return `the data folder ${this.folder} is in use by process ${this.pid}`
  }
}

/** The folder cannot be created or written to, or its database cannot be opened. */
export class DataFolderUnusable extends Data.TaggedError("DataFolderUnusable")<{
  readonly folder: string
  /** Node's code, for example `EACCES`. */
  readonly code: string
}> {
  override get message() {
    return `the data folder ${this.folder} cannot be used (${this.code})`
  }
}

interface Holder {
  readonly pid: number
  /**
   * When the process started, by the kernel's count; so a later process with the same number is not mistaken for it.
   */
  readonly born: string
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT"

/**
 * Field 22 of `/proc/<pid>/stat` (proc(5)), counted from boot; unknown on other systems than Linux. A killed process
 * that its parent has not waited for counts as gone once its last thread is.
 */
const bornAt = async (pid: number): Promise<string> => {
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8")
    const line = await readFile(`/proc/${pid}/stat`, "utf8")
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const [state, threads, born] = [fields[0], Number(fields[17]), fields[19]]
    return state === "Z" && threads <= 1 ? "" : `${boot.trim()} ${born}`
  } catch {
    return ""
  }
}

const isAlive = async ({ pid, born }: Holder): Promise<boolean> => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
  }
  return (await bornAt(pid)) === born
}

const read = async (path: string): Promise<Holder | undefined> => {
  try {
    return JSON.parse(await readFile(path, "utf8"))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Puts a complete file in place unless there is one. */
const create = async (path: string, content: string): Promise<boolean> => {
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, content)
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** Only one process at a time removes what a dead process has left, or two could each take over. */
const removeDead = async (path: string): Promise<void> => {
  const turn = `${path}.turn`
  if (!(await create(turn, ""))) {
    const age = await stat(turn).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0
    )
    if (age > 5_000) await rm(turn, { force: true })
    return
  }
  try {
    const holder = await read(path)
    if (holder && !(await isAlive(holder))) await rename(path, `${path}.dead`)
  } finally {
    await rm(turn, { force: true })
  }
}

/** Works with the folder, and reports why when that fails. */
export const workOn = <A>(folder: string, attempt: () => Promise<A>): Effect.Effect<A, DataFolderUnusable> =>
  Effect.tryPromise({
    try: attempt,
    catch: (error) => new DataFolderUnusable({ folder, code: String((error as NodeJS.ErrnoException).code ?? error) })
  })

/**
 * Creates the folder if needed, and holds it for this process until the scope closes. A killed process holds nothing:
 * its lock names a process that is gone.
 */
export const hold = (folder: string): Effect.Effect<void, DataFolderInUse | DataFolderUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    const path = join(folder, "lock")
    const work = <A>(attempt: () => Promise<A>) => workOn(folder, attempt)
    yield* work(() => mkdir(folder, { recursive: true, mode: 0o700 }))
    const me: Holder = { pid: process.pid, born: yield* Effect.promise(() => bornAt(process.pid)) }
    const take: Effect.Effect<void, DataFolderInUse | DataFolderUnusable> = Effect.gen(function* () {
      if (yield* work(() => create(path, JSON.stringify(me)))) return
      const holder = yield* work(() => read(path))
      if (holder && (yield* Effect.promise(() => isAlive(holder)))) {
        return yield* new DataFolderInUse({ folder, pid: holder.pid })
      }
      yield* work(() => removeDead(path))
      yield* Effect.sleep("20 millis")
      yield* take
    })
    yield* Effect.acquireRelease(take, () => Effect.promise(() => rm(path, { force: true })))
  })
