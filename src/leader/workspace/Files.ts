/** The files of a run in its agent's folder: those that came with the request, in `in/`, and those that it leaves in `out/`. */
import { isUtf8 } from "node:buffer"
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, type Stats, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { FileMissing } from "../../domain/Errors.ts"
import { maxFile, mostFiles, type RunFile, storedFile } from "../../domain/run/RunFile.ts"
import type { Task } from "../agents/Agent.ts"
import { LeaderError } from "../Leader.ts"
import { type Place, withoutPrompt } from "../Place.ts"
import { type Output, runProgram } from "../Program.ts"
import * as TemporaryFolder from "../TemporaryFolder.ts"
import type { LeaderWork } from "../Work.ts"
import * as Tools from "./Tools.ts"

type Transfer = Pick<LeaderWork, "file" | "sendFile">

const withText = (task: Task, intro: string, files: ReadonlyArray<RunFile>, folder = ""): Task => {
  const lines = files.map(({ missing, name, size, type }) =>
    missing !== undefined
      ? `- ${name} (not available: ${missing})`
      : `- ${folder}${name} (${type}${size === undefined ? "" : `, ${size} bytes`})`
  )
  return { ...task, prompt: { ...task.prompt, prompt: `${task.prompt.prompt}\n\n${intro}\n${lines.join("\n")}` } }
}

/** Keeps the folder out of a repository's status, and shows that it is ours. */
const mark = "# The files of a run\n*\n"

/** Removes the files of this run, and those that a crash has left. */
const clean = `rm -rf "$1"
if [ ! -L in ] && grep -qsx "# The files of a run" in/.gitignore; then rm -rf in; fi`

/** Copies the files to `in`; if the folder has something else of that name, to one of the run's own. */
const copy = `${clean}
to=in
if [ -e in ] || [ -L in ]; then to=$1; fi
cp -R "$2" "$to" && printf %s "$to"`

/** The end of the run waits for it. */
const cleanTimeout = "1 minute"

/** Files of a request that are in memory. */
const atOnce = 4

/** For all files that the agent has left. */
const sendTimeout = "1 minute"

const cannotPlace = (why: unknown) =>
  new LeaderError({ message: `The files of the request cannot be placed in the agent's folder: ${why}` })

/** Places the files until the scope closes, as the agent's user. */
const place = (task: Task, given: ReadonlyArray<RunFile>, { file }: Transfer) =>
  Effect.gen(function* () {
    const staged = yield* Effect.mapError(TemporaryFolder.make("webhook-files-"), cannotPlace)
    const attempt = (work: () => void) => Effect.try({ try: work, catch: cannotPlace })
    // Whatever the umask, the agent's user reads them. No other user gets into the folder, which is found by its name.
    const write = (name: string, content: string | Uint8Array) =>
      attempt(() => {
        writeFileSync(join(staged, "in", name), content, { flag: "wx" })
        chmodSync(join(staged, "in", name), 0o644)
      })
    yield* attempt(() => {
      const { user } = task.place
      if (user !== undefined) {
        chownSync(staged, process.geteuid?.() ?? 0, user.gid)
        chmodSync(staged, 0o710)
      }
      mkdirSync(join(staged, "in"))
      chmodSync(join(staged, "in"), 0o755)
    })
    yield* write(".gitignore", mark)
    const named: Array<RunFile> = []
    for (const { id, missing, name, size, type } of given) {
      const { bytes: _, size: __, ...safe } = storedFile(id, { name, type, bytes: new Uint8Array() }, named)
      named.push({ ...safe, ...(size !== undefined && { size }), ...(missing !== undefined && { missing }) })
    }
    const bytesOf = ({ id, missing, size }: RunFile): Effect.Effect<Uint8Array, FileMissing | LeaderError> => {
      if (missing !== undefined) return new FileMissing({ reason: missing })
      // The server has the files that were sent. A file to be fetched may be gone, and the run goes on without it.
      return size !== undefined
        ? Effect.catchTag(file(id), "Unavailable", ({ detail }) => cannotPlace(detail))
        : Effect.catchTag(file(id), "Unavailable", () => new FileMissing({ reason: "The server could not get it." }))
    }
    const files = yield* Effect.forEach(
      named,
      (file): Effect.Effect<RunFile, LeaderError> =>
        bytesOf(file).pipe(
          Effect.flatMap((bytes) => Effect.as(write(file.name, bytes), { ...file, size: bytes.length })),
          Effect.catchTag("FileMissing", ({ reason }) => {
            const title = `Not available: ${file.name}`
            task.progress({ steps: [{ kind: "file", status: "failed", title, detail: reason }] })
            return Effect.succeed({ ...file, missing: reason })
          })
        ),
      { concurrency: atOnce }
    )
    const tools = Tools.inPlace(task.place)
    const own = `in-${task.prompt.run_id}`
    yield* Effect.addFinalizer(() =>
      tools.run("sh", "-c", clean, "sh", own).pipe(Effect.timeoutOption(cleanTimeout), Effect.ignore)
    )
    const to = yield* tools.run("sh", "-c", copy, "sh", own, join(staged, "in"))
    return withText(task, "Files that came with this message:", files, `${to}/`)
  })

interface Left {
  readonly size: number
  /** Tells an earlier state from a later one. */
  readonly state: string
  /** Why it cannot be kept. */
  readonly fault?: string
}

const faultOf = (name: Buffer, found: Stats): string | undefined => {
  if (!isUtf8(name)) return "Its name is not UTF-8. Rename it."
  if (found.isFile()) return undefined
  return found.isDirectory()
    ? "It is a folder. Only files directly in out/ are kept: pack it, for example with zip."
    : "It is no regular file. Copy its content to one."
}

/** The entries directly in `out`, by their names. */
const leftIn = (folder: string): ReadonlyMap<string, Left> => {
  const out = join(folder, "out")
  const files = new Map<string, Left>()
  try {
    if (!lstatSync(out).isDirectory()) return files
    for (const name of readdirSync(out, { encoding: "buffer" }).sort(Buffer.compare)) {
      const found = lstatSync(Buffer.concat([Buffer.from(`${out}/`), name]), { throwIfNoEntry: false })
      if (found === undefined || name.toString() === ".gitignore") continue
      const fault = faultOf(name, found)
      // A folder changes with what is in it.
      const size = fault === undefined ? found.size : 0
      files.set(name.toString(fault === undefined || isUtf8(name) ? "utf8" : "latin1"), {
        ...{ size, state: `${found.ino} ${found.size} ${found.ctimeMs}` },
        ...(fault !== undefined && { fault })
      })
    }
  } catch {
    // There is no such folder.
  }
  return files
}

const contents = (): Output<Buffer> => {
  const chunks: Array<Buffer> = []
  let size = 0
  return {
    write: (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size <= maxFile
    },
    isDone: () => false,
    result: ({ errors, status }) =>
      status === "exit code 0"
        ? Effect.succeed(Buffer.concat(chunks))
        : new LeaderError({ message: errors === "" ? status : errors })
  }
}

/** As the agent's user, which may read no more than the agent. */
const read = (place: Place, path: string) =>
  runProgram({ ...place, command: "cat", args: ["--", path], env: withoutPrompt(place), input: "" }, contents())

/** Sends what is new or changed. `unsent`: the names of those that are neither sent nor refused yet. */
const send = (
  { place, progress }: Task,
  folder: string,
  { before, unsent }: { readonly before: ReturnType<typeof leftIn>; readonly unsent: Set<string> },
  { sendFile }: Transfer
) =>
  Effect.gen(function* () {
    const kept: Array<Pick<RunFile, "name">> = []
    const left = [...leftIn(folder)].filter(([name, { state }]) => before.get(name)?.state !== state)
    for (const [name] of left) unsent.add(name)
    for (const [name, { fault, size }] of left) {
      const refuse = (why: string) => {
        unsent.delete(name)
        progress({ steps: [{ kind: "file", status: "failed", title: `Not kept: out/${name}`, detail: why }] })
      }
      if (fault !== undefined) refuse(fault)
      else if (size > maxFile) refuse(`It is larger than ${maxFile / 1e6} MB.`)
      else if (kept.length === mostFiles) refuse(`At most ${mostFiles} files of a run are kept.`)
      else {
        yield* read(place, join(folder, "out", name)).pipe(
          Effect.flatMap((bytes) => {
            // Two names may be the same without what is special in them.
            const unique = storedFile("", { name, bytes }, kept).name
            return sendFile(kept.push({ name: unique }), { name: unique, bytes })
          }),
          Effect.tap(Effect.sync(() => unsent.delete(name))),
          Effect.catch((error) => Effect.sync(() => refuse(error.message)))
        )
      }
    }
  })

/** Works with the files of the prompt, then sends those that the agent has left, also if it failed. */
export const during = <A>(
  task: Task,
  transfer: Transfer,
  work: (task: Task) => Effect.Effect<A, LeaderError>
): Effect.Effect<A, LeaderError> => {
  const { files = [] } = task.prompt
  const { folder } = task.place
  if (folder === undefined) {
    const intro = "Files came with this message, but you do not have them, as your leader has no folder for them:"
    return work(files.length === 0 ? task : withText(task, intro, files))
  }
  return Effect.gen(function* () {
    const placed = files.length === 0 ? task : yield* place(task, files, transfer)
    const before = leftIn(folder)
    const exit = yield* Effect.exit(work(placed))
    // Whatever becomes of the files, the answer follows.
    const unsent = new Set<string>()
    const refuseRest = (detail: string) =>
      Effect.sync(() => {
        const names = [...unsent].map((name) => `out/${name}`).join(", ")
        if (names !== "")
          task.progress({ steps: [{ kind: "file", status: "failed", title: `Not kept: ${names}`, detail }] })
      })
    yield* send(task, folder, { before, unsent }, transfer).pipe(
      Effect.timeoutOption(sendTimeout),
      Effect.flatMap(
        Option.match({
          onSome: () => Effect.void,
          onNone: () => refuseRest(`Sending took longer than ${sendTimeout}.`)
        })
      ),
      Effect.catchDefect((error) =>
        Effect.andThen(
          Effect.logWarning("not all files of the agent were sent", error),
          refuseRest("The leader could not send it. Its log says why.")
        )
      )
    )
    return yield* exit
  }).pipe(Effect.scoped)
}
