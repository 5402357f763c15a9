/** A bare copy of a repository, which the folders of its threads share. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect, Either, Option } from "effect"
import { isCommit } from "../../domain/run/WorkspaceRef.ts"
import { LeaderError } from "../Leader.ts"
import type { Place } from "../Place.ts"
import * as Lock from "./Lock.ts"
import * as Tools from "./Tools.ts"

export interface Commit {
  /** The folder of the mirror. */
  readonly mirror: string
  readonly sha: string
  /** What people are told: the mirror was damaged, and is a new one. */
  readonly note?: string
}

export interface MirrorOptions {
  /** The folder of all mirrors. */
  readonly mirrors: string
  /** The folder of their locks. */
  readonly locks: string
  readonly url: string
  /** A branch, a tag, a full name such as `refs/pull/5/head`, or a commit. Absent: the remote's HEAD. */
  readonly ref: string | undefined
  readonly place: Place
  readonly who: string
  readonly onWait: (holder: string) => void
  /** A mirror that was found damaged, and why: it is not used again. */
  readonly damaged?: { readonly mirror: string; readonly why: string }
}

/** Where what is fetched by name is kept. */
const own = "refs/webhook"
/** Branches and tags. What they no longer have stays in the objects, as folders may still use it. */
const everything = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]

const isFetched = (ref: string): boolean => /^refs\/(heads|tags)\//.test(ref)

/** No fault of a mirror. */
const isOfSystem = ({ message }: LeaderError): boolean =>
  message.endsWith(Tools.tookTooLong) || /No space left|quota exceeded|Permission denied|Read-only file/i.test(message)

/** The number of a repository's newest mirror. A damaged one before it stays for the copies that use its objects. */
const newestOf = (mirrors: string, hash: string): number => {
  try {
    const numbers = readdirSync(mirrors).map((name) =>
      Number(name.startsWith(`${hash}.`) && name.slice(hash.length + 1))
    )
    return Math.max(0, ...numbers.filter(Number.isSafeInteger))
  } catch {
    return 0
  }
}

/** A mirror's git. The ref may come from a caller, as in `commitOf`. */
const at = (tools: Tools.Tools, mirror: string, { ref = "HEAD", url }: Pick<MirrorOptions, "ref" | "url">) => {
  const git = (...args: ReadonlyArray<string>) => tools.git(args, { GIT_DIR: mirror })
  const fetch = (...refs: ReadonlyArray<string>) => git("fetch", "--quiet", "--prune", "--force", "--", url, ...refs)
  const find = (name: string) => Effect.option(git("rev-parse", "--verify", "--quiet", `${name}^{commit}`))
  const fetched = (refs: string, name: string) =>
    Effect.flatMap(Effect.isSuccess(fetch(refs)), (isThere) => (isThere ? find(name) : Effect.succeedNone))
  const orElse = (one: Effect.Effect<Option.Option<string>>, other: Effect.Effect<Option.Option<string>>) =>
    Effect.flatMap(one, (found) => (Option.isSome(found) ? Effect.succeed(found) : other))

  // The configuration can name programs, and an agent of the same user may have written there. Only the format is kept.
  const config = (...args: ReadonlyArray<string>) =>
    Effect.option(tools.git(["config", "--file", join(mirror, "config"), ...args]))
  const restore = Effect.gen(function* () {
    const isOld = Option.isSome(yield* config("core.bare"))
    const [hash, refs] = [yield* config("extensions.objectFormat"), yield* config("extensions.refStorage")]
    yield* tools.run("rm", "-rf", ...["config", "config.worktree", "commondir"].map((name) => join(mirror, name)))
    yield* tools.git(["init", "--quiet", "--bare", mirror], {
      ...(isOld && { GIT_DEFAULT_HASH: Option.getOrElse(hash, () => "sha1") }),
      ...(isOld && { GIT_DEFAULT_REF_FORMAT: Option.getOrElse(refs, () => "files") })
    })
  })

  const names = ref.startsWith("refs/") ? [ref, `${own}/${ref}`] : [`refs/heads/${ref}`, `refs/tags/${ref}`]
  const isUnreadable = (name: string) =>
    Effect.map(
      Effect.all([
        Effect.isSuccess(git("rev-parse", "--verify", "--quiet", name)),
        Effect.isSuccess(git("cat-file", "-t", `${name}^{}`))
      ]),
      ([isThere, isReadable]) => isThere && !isReadable
    )

  return {
    mirror,
    restore,
    /** Fetches all branches and tags. */
    update: Effect.gen(function* () {
      // First: no init ends well beside the lock that a killed one has left.
      yield* Tools.unlock(tools, mirror)
      yield* restore
      yield* fetch(...everything)
    }),
    answers: Effect.isSuccess(git("ls-remote", "--quiet", "--", url, "HEAD")),
    isName: ref.startsWith("-")
      ? Effect.succeed(false)
      : Effect.isSuccess(git("check-ref-format", ref.startsWith("refs/") ? ref : `refs/heads/${ref}`)),
    /** The commit of the ref, which may have to be fetched by its name. */
    commit: Effect.suspend(() => {
      if (isCommit(ref)) return orElse(find(ref), fetched(ref, ref))
      if (isFetched(ref)) return find(ref)
      if (ref === "HEAD" || ref.startsWith("refs/")) return fetched(`+${ref}:${own}/${ref}`, `${own}/${ref}`)
      return orElse(find(`refs/heads/${ref}`), find(`refs/tags/${ref}`))
    }),
    /** Whether the mirror has the ref, and cannot read it. */
    hidesCommit: isCommit(ref)
      ? Effect.sync(() =>
          existsSync(join(mirror, "objects", ref.slice(0, 2).toLowerCase(), ref.slice(2).toLowerCase()))
        )
      : Effect.exists(names, isUnreadable)
  }
}

/**
 * The commit of the ref, fetched now. The ref may come from a caller: git gets it only as a commit's full hash or as a name
 * that begins with `refs/`, so it is never an option or an expression. A damaged mirror is replaced by a new one, once.
 */
export const commitOf = (options: MirrorOptions): Effect.Effect<Commit, LeaderError> =>
  Effect.gen(function* () {
    const { damaged, locks, mirrors, onWait, place, ref = "HEAD", url, who } = options
    const hash = createHash("sha256").update(url).digest("hex").slice(0, 16)
    const held = yield* Lock.hold(join(locks, hash), who, { onWait })
    const tools = Tools.inPlace({ ...place, folder: mirrors, remembered: held.programs })
    const newest = newestOf(mirrors, hash)
    const current = at(tools, join(mirrors, newest === 0 ? hash : `${hash}.${newest}`), options)
    const next = at(tools, join(mirrors, `${hash}.${newest + 1}`), options)
    const isFirst = !existsSync(current.mirror)
    const refuse = (why: string) =>
      new LeaderError({ message: `The ref ${JSON.stringify(ref)} is not ${why} the webhook's \`workspace_ref\`.` })
    const removeNext = Effect.ignore(tools.run("rm", "-rf", next.mirror))

    const answers = Effect.zipRight(next.restore, next.answers).pipe(
      Effect.orElseSucceed(() => false),
      Effect.ensuring(removeNext)
    )

    const anew = (why: string) =>
      Effect.gen(function* () {
        yield* Effect.tapError(next.update, () => removeNext)
        const note = `The mirror of the repository was damaged (${why.split("\n")[0]}), so it was cloned anew.`
        yield* Effect.logWarning(
          `${note} Conversations begun before may use ${current.mirror}; remove it when they are over.`
        )
        return { used: next, note }
      })

    const updated = Effect.gen(function* () {
      if (damaged?.mirror === current.mirror) return yield* anew(damaged.why)
      const result = yield* Effect.either(current.update)
      if (Either.isRight(result)) return { used: current }
      if (isFirst || isOfSystem(result.left) || !(yield* answers)) return yield* result.left
      // The remote is there: what fails again is the mirror.
      return (yield* Effect.isSuccess(current.update)) ? { used: current } : yield* anew(result.left.message)
    })

    const work = Effect.gen(function* () {
      const { used, ...told } = yield* updated
      if (!(yield* used.isName)) return yield* refuse("a valid name. Correct")
      const commit = yield* used.commit
      if (Option.isSome(commit)) return { mirror: used.mirror, sha: commit.value, ...told }
      if (used === current && (yield* used.hidesCommit)) {
        const { note } = yield* anew(`${ref} cannot be read`)
        const found = yield* next.commit
        if (Option.isSome(found)) return { mirror: next.mirror, sha: found.value, note }
      }
      return yield* refuse("in the repository. Push it, or correct")
    })
    return yield* Lock.during(held, work)
  }).pipe(Effect.scoped)

/** Why the mirror cannot give the commit's files; `undefined`: it can. Reads all of them, so only ask after a failure. */
export const damageOf = (place: Place, { mirror, sha }: Commit): Effect.Effect<string | undefined> => {
  const { git } = Tools.inPlace(place)
  const inMirror = (...args: ReadonlyArray<string>) => git(args, { GIT_DIR: mirror })
  return inMirror("archive", "--output=/dev/null", "--format=tar", sha).pipe(
    Effect.zipRight(inMirror("fsck", "--connectivity-only", "--no-dangling", "--no-progress")),
    Effect.as(undefined),
    Effect.catchAll((failure) => Effect.succeed(isOfSystem(failure) ? undefined : failure.message))
  )
}
