import { randomUUID } from "node:crypto"
import { link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Data, Effect, type Scope } from "effect"
import { bornAt } from "../../runtime/Processes.ts"

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

const isAlive = ({ pid, born }: Holder): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
  }
  return bornAt(pid) === born
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
    if (holder && !isAlive(holder)) await rename(path, `${path}.dead`)
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
    const me: Holder = { pid: process.pid, born: bornAt(process.pid) }
    const take: Effect.Effect<void, DataFolderInUse | DataFolderUnusable> = Effect.gen(function* () {
      if (yield* work(() => create(path, JSON.stringify(me)))) return
      const holder = yield* work(() => read(path))
      if (holder && isAlive(holder)) {
        return yield* new DataFolderInUse({ folder, pid: holder.pid })
      }
      yield* work(() => removeDead(path))
      yield* Effect.sleep("20 millis")
      yield* take
    })
    yield* Effect.acquireRelease(take, () => Effect.promise(() => rm(path, { force: true })))
  })
