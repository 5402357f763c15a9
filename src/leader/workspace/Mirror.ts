/** A bare copy of a repository, which the folders of its threads share. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Result } from "effect"
import { isCommit } from "../../domain/run/WorkspaceRef.ts"
import { LeaderError } from "../Leader.ts"
import type { Place } from "../Place.ts"
import * as Lock from "./Lock.ts"
import * as Tools from "./Tools.ts"

export interface Commit {
  /** The folder of the mirror. */
  readonly mirror: string
  readonly sha: string
  /** A note for people: the mirror was damaged, and this is a new one. */
  readonly note?: string
}

interface MirrorOptions {
  /** The folder of all mirrors. */
  readonly mirrors: string
  /** The folder of their locks. */
  readonly locks: string
  readonly url: string
  /** A branch, a tag, a full name such as `refs/pull/5/head`, or a commit. Absent: the remote's HEAD. */
  readonly ref: string | undefined
  /** Takes the remote's HEAD if the repository does not have the ref. */
  readonly orHead?: boolean
  readonly place: Place
  readonly who: string
  readonly onWait: (holder: string) => void
  /** A commit that could not be checked out, so its mirror may be damaged. */
  readonly suspect?: Commit
}

/** Where what is fetched by name is kept. */
const own = "refs/webhook"
/** Branches and tags. What they no longer have stays in the objects, as folders may still use it. */
const everything = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]

const isFetched = (ref: string): boolean => /^refs\/(heads|tags)\//.test(ref)

/** No sign of damage, and a new clone would fail as well. */
const isOfSystem = ({ message }: LeaderError): boolean =>
  message.endsWith(Tools.tookTooLong) || /No space left|quota exceeded|Permission denied|Read-only file/i.test(message)

/** Git's complaint, without the command that failed. */
const complaintIn = (message: string): string => /(?:error|fatal): (.*)/.exec(message)?.[1] ?? message.split("\n")[0]!

/** The number of a repository's newest mirror. Damaged ones before it stay, as older copies use their objects. */
const newestOf = (mirrors: string, hash: string): number => {
  try {
    const numbers = readdirSync(mirrors).map((name) =>
      name.startsWith(`${hash}.`) ? Number(name.slice(hash.length + 1)) : 0
    )
    return Math.max(0, ...numbers.filter(Number.isSafeInteger))
  } catch {
    return 0
  }
}

/**
 * Fails if one of the commit's files cannot be read: then git complains, but its exit code is 0. Not `git archive`, which also
 * fails when one of the operator's filters does.
 */
const readFiles = `!read() {
  git ls-tree -r --full-tree "$1" | sed -n 's/^[0-9]* blob \\([0-9a-f]*\\).*/\\1/p' |
    git cat-file --batch --buffer 2>&1 > /dev/null
}
check() { errors=$(read "$1") && [ -z "$errors" ] || { echo "$errors" >&2; exit 1; }; }
check`

/** A mirror, which exists once it has been updated. */
const at = (tools: Tools.Tools, mirror: string, url: string) => {
  const git = (...args: ReadonlyArray<string>) => tools.git(args, { GIT_DIR: mirror })
  const fetch = (...refs: ReadonlyArray<string>) => git("fetch", "--quiet", "--prune", "--force", "--", url, ...refs)
  const find = (name: string) => git("rev-parse", "--verify", "--quiet", `${name}^{commit}`)
  const fetched = (refs: string, name: string) => Effect.andThen(fetch(refs), find(name))

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

  return {
    mirror,
    git,
    /** Fetches all branches and tags. */
    update: Effect.gen(function* () {
      // First: no init ends well beside the lock that a killed one has left.
      yield* Tools.unlock(tools, mirror)
      yield* restore
      yield* fetch(...everything)
    }),
    /** The commit of the ref, which may have to be fetched by its name. */
    commit: (ref: string) => {
      if (isCommit(ref)) return Effect.catch(find(ref), (why) => Effect.mapError(fetched(ref, ref), () => why))
      if (isFetched(ref)) return find(ref)
      if (ref === "HEAD" || ref.startsWith("refs/")) return fetched(`+${ref}:${own}/${ref}`, `${own}/${ref}`)
      return Effect.catch(find(`refs/heads/${ref}`), () => find(`refs/tags/${ref}`))
    },
    /** The damage that git finds; `undefined`: none. Goes through the whole history, and the files of the commit. */
    damage: (sha?: string): Effect.Effect<string | undefined> =>
      Effect.gen(function* () {
        if (sha !== undefined) yield* git("-c", `alias.files=${readFiles}`, "files", sha)
        yield* git("fsck", "--connectivity-only", "--no-dangling", "--no-progress")
        return undefined
      }).pipe(Effect.catch((failure) => Effect.succeed(isOfSystem(failure) ? undefined : complaintIn(failure.message))))
  }
}

/**
 * The commit of the ref, fetched now. The ref may come from a caller: git gets it only as a commit's full hash or as a name
 * that begins with `refs/`, so it is never an option or an expression.
 *
 * A damaged mirror is replaced by a new one. It counts as damaged only if git cannot read it without the remote, either.
 */
export const commitOf = (options: MirrorOptions): Effect.Effect<Commit, LeaderError> =>
  Effect.gen(function* () {
    const { locks, mirrors, onWait, orHead = false, place, ref = "HEAD", suspect, url, who } = options
    const hash = createHash("sha256").update(url).digest("hex").slice(0, 16)
    const held = yield* Lock.hold(join(locks, hash), who, { onWait })
    const tools = Tools.inPlace({ ...place, folder: mirrors, remembered: held.programs })
    const newest = newestOf(mirrors, hash)
    const current = at(tools, join(mirrors, newest === 0 ? hash : `${hash}.${newest}`), url)
    const isFirst = !existsSync(current.mirror)
    const refuse = (why: string) =>
      new LeaderError({ message: `The ref ${JSON.stringify(ref)} is not ${why} the webhook's \`workspace_ref\`.` })

    const anew = (why: string) =>
      Effect.gen(function* () {
        const next = at(tools, join(mirrors, `${hash}.${newest + 1}`), url)
        yield* Effect.logWarning(
          `the mirror ${current.mirror} is damaged (${why}), and is replaced by ${next.mirror}. Older copies use its objects: remove it when their conversations are over`
        )
        yield* next.update.pipe(
          Effect.tapError(() => Effect.ignore(tools.run("rm", "-rf", next.mirror))),
          Effect.mapError(
            ({ message }) =>
              new LeaderError({
                message: `The mirror of the repository is damaged (${why}), and cloning it anew failed: ${message}`
              })
          )
        )
        return { used: next, note: `The mirror of the repository was damaged (${why}), so it was cloned anew.` }
      })

    const updated = Effect.gen(function* () {
      const failure = Result.flip(yield* Effect.result(current.update))
      if (Result.isFailure(failure)) {
        const why = suspect?.mirror === current.mirror ? yield* current.damage(suspect.sha) : undefined
        return why === undefined ? { used: current } : yield* anew(why)
      }
      const why = isFirst || isOfSystem(failure.success) ? undefined : yield* current.damage()
      return why === undefined ? yield* failure.success : yield* anew(why)
    })

    const work = Effect.gen(function* () {
      const { used, ...told } = yield* updated
      const name = ref.startsWith("refs/") ? ref : `refs/heads/${ref}`
      const isName = ref.startsWith("-") ? Effect.succeed(false) : Effect.isSuccess(used.git("check-ref-format", name))
      if (!(yield* isName)) return yield* refuse("a valid name. Correct")
      const found = yield* Effect.result(used.commit(ref))
      if (Result.isSuccess(found)) return { mirror: used.mirror, sha: found.success, ...told }
      // Nothing is said of a commit that is not there.
      const isUnreadable = used === current && isCommit(ref) && /(?:error|fatal): /.test(found.failure.message)
      const why = isUnreadable ? yield* current.damage() : undefined
      const other = why === undefined ? { used, ...told } : yield* anew(why)
      const commit = why === undefined ? Effect.fail(found.failure) : other.used.commit(ref)
      const sha = yield* Effect.option(orHead ? Effect.catch(commit, () => other.used.commit("HEAD")) : commit)
      if (Option.isNone(sha)) return yield* refuse("in the repository. Push it, or correct")
      return { mirror: other.used.mirror, sha: sha.value, ...("note" in other && { note: other.note }) }
    })
    return yield* Lock.during(held, work)
  }).pipe(Effect.scoped)
