/** Operating system users, for programs that run as a user other than the leader's. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { Effect, Option, Schema } from "effect"

export interface SystemUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** Programs cannot be run as this user. */
export class UserUnusable extends Schema.TaggedError<UserUnusable>()("UserUnusable", {
  user: Schema.String,
  why: Schema.String
}) {
  override get message() {
    return `Cannot run programs as ${this.user}: ${this.why}.`
  }
}

const run = promisify(execFile)

/** The fields of a user or group, from files, LDAP or other sources. */
const entry = (database: "passwd" | "group", key: string): Effect.Effect<Option.Option<ReadonlyArray<string>>> =>
  Effect.option(Effect.tryPromise(() => run("getent", [database, key]))).pipe(
    Effect.map(Option.map(({ stdout }) => stdout.trim().split(":")))
  )

const isNumber = (text: string) => /^\d+$/.test(text)
/** A user or group name that `getent` cannot mistake for an option. */
const isName = (text: string) => /^\w[\w.@$-]*$/.test(text)

/** Finds `user` or `user:group`, each a name or a number. Numbers need no entry in the system's databases. */
export const find = (text: string): Effect.Effect<SystemUser, UserUnusable> =>
  Effect.gen(function* () {
    const fail = (why: string) => new UserUnusable({ user: text, why })
    const [user = "", group, ...more] = text.split(":")
    if (!isName(user) || (group !== undefined && !isName(group)) || more.length > 0) {
      return yield* fail("must be `user` or `user:group`")
    }
    const known = yield* entry("passwd", user)
    const gid = yield* groupOf(group, known)
    if (Option.isNone(gid)) return yield* fail(group === undefined ? "no such user" : "no such group")
    if (Option.isSome(known)) {
      const [name = user, , uid, , , home = "/"] = known.value
      return { name, uid: Number(uid), gid: gid.value, home }
    }
    return isNumber(user) ? { name: user, uid: Number(user), gid: gid.value, home: "/" } : yield* fail("no such user")
  })

/** The given group, or the user's primary group. */
const groupOf = (group: string | undefined, user: Option.Option<ReadonlyArray<string>>) => {
  if (group === undefined) return Effect.succeed(Option.map(user, ([, , , gid]) => Number(gid)))
  if (isNumber(group)) return Effect.succeedSome(Number(group))
  return Effect.map(
    entry("group", group),
    Option.map(([, , gid]) => Number(gid))
  )
}

/** Fails if this process may not start programs as that user. */
export const check = ({ gid, name, uid }: SystemUser): Effect.Effect<void, UserUnusable> =>
  Effect.tryPromise({
    try: () => run("true", { uid, gid }),
    catch: () => new UserUnusable({ user: name, why: "the leader must be started as root" })
  })
