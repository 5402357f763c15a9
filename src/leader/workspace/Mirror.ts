/** A bare copy of a repository, which the folders of its threads share. */
import { createHash } from "node:crypto"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { isCommit } from "../../domain/run/WorkspaceRef.ts"
import { LeaderError } from "../Leader.ts"
import type { Place } from "../Place.ts"
import * as Lock from "./Lock.ts"
import * as Tools from "./Tools.ts"

export interface Commit {
  /** The folder of the mirror. */
  readonly mirror: string
  readonly sha: string
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
}

/** Where what is fetched by name is kept. */
const own = "refs/webhook"
/** Branches and tags. What they no longer have stays in the objects, as folders may still use it. */
const everything = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]

const isFetched = (ref: string): boolean => /^refs\/(heads|tags)\//.test(ref)

/**
 * The commit of the ref, fetched now. The ref may come from a caller: git gets it only as a commit's full hash or as a name
 * that begins with `refs/`, so it is never an option or an expression.
 */
export const commitOf = (options: MirrorOptions): Effect.Effect<Commit, LeaderError> =>
  Effect.gen(function* () {
    const { locks, mirrors, onWait, place, ref = "HEAD", url, who } = options
    const hash = createHash("sha256").update(url).digest("hex").slice(0, 16)
    const mirror = join(mirrors, hash)
    const held = yield* Lock.hold(join(locks, hash), who, { onWait })
    const tools = Tools.inPlace({ ...place, folder: mirrors, remembered: held.programs })
    const inMirror = (...args: ReadonlyArray<string>) => tools.git(args, { GIT_DIR: mirror })
    const fetch = (...refs: ReadonlyArray<string>) =>
      inMirror("fetch", "--quiet", "--prune", "--force", "--", url, ...refs)
    const find = (name: string) => Effect.option(inMirror("rev-parse", "--verify", "--quiet", `${name}^{commit}`))
    const fetched = (refs: string, name: string) =>
      Effect.flatMap(Effect.isSuccess(fetch(refs)), (isThere) => (isThere ? find(name) : Effect.succeedNone))
    const orElse = (one: Effect.Effect<Option.Option<string>>, other: Effect.Effect<Option.Option<string>>) =>
      Effect.flatMap(one, (found) => (Option.isSome(found) ? Effect.succeed(found) : other))
    const found = () => {
      if (isCommit(ref)) return orElse(find(ref), fetched(ref, ref))
      if (isFetched(ref)) return find(ref)
      if (ref === "HEAD" || ref.startsWith("refs/")) return fetched(`+${ref}:${own}/${ref}`, `${own}/${ref}`)
      return orElse(find(`refs/heads/${ref}`), find(`refs/tags/${ref}`))
    }
    const refuse = (why: string) =>
      new LeaderError({ message: `The ref ${JSON.stringify(ref)} is not ${why} the webhook's \`workspace_ref\`.` })

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

    const work = Effect.gen(function* () {
      // First: no init ends well beside the lock that a killed one has left.
      yield* Tools.unlock(tools, mirror)
      yield* restore
      yield* fetch(...everything)
      const name = ref.startsWith("refs/") ? ref : `refs/heads/${ref}`
      const isName = ref.startsWith("-") ? Effect.succeed(false) : Effect.isSuccess(inMirror("check-ref-format", name))
      if (!(yield* isName)) return yield* refuse("a valid name. Correct")
      const commit = yield* found()
      return Option.isSome(commit)
        ? { mirror, sha: commit.value }
        : yield* refuse("in the repository. Push it, or correct")
    })
    return yield* Lock.during(held, work)
  }).pipe(Effect.scoped)
