/** The profiles of a user: servers and keys, in a file that only the user can read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Config, Effect, Option, Result, Schema } from "effect"
import { type Failure, refused, usage } from "../Failure.ts"

const Profile = Schema.Struct({ url: Schema.NonEmptyString, key: Schema.NonEmptyString })
type Profile = typeof Profile.Type

const Profiles = Schema.Struct({
  /** Used unless another one is named. */
  current: Schema.NullOr(Schema.String),
  profiles: Schema.Record(Schema.String, Profile)
})
type Profiles = typeof Profiles.Type

const none: Profiles = { current: null, profiles: {} }

const folder = Config.all([
  Config.option(Config.NonEmptyString("XDG_CONFIG_HOME")),
  Config.option(Config.NonEmptyString("HOME"))
]).pipe(
  Effect.orDie,
  Effect.map(([config, home]) =>
    Option.orElse(config, () => Option.map(home, (home) => join(home, ".config"))).pipe(
      Option.map((folder) => join(folder, "webhook-trigger"))
    )
  )
)

const nameOfFile = "profiles.json"

const cannot = (what: string, error: unknown) => refused(what, error instanceof Error ? error.message : String(error))

const modeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mode

/** Like ssh: a file that others could read or replace is not used. */
const faultOf = (path: string): string | undefined => {
  const [file, folder] = [modeOf(path), modeOf(dirname(path))]
  if (file !== undefined && (file & 0o077) !== 0) return `others can read ${path}; run: chmod 600 ${path}`
  if (folder !== undefined && (folder & 0o022) !== 0)
    return `others can write to ${dirname(path)}; run: chmod 700 ${dirname(path)}`
  return undefined
}

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(Profiles))

export const read: Effect.Effect<Profiles, Failure> = Effect.gen(function* () {
  const found = yield* folder
  if (Option.isNone(found)) return none
  const path = join(found.value, nameOfFile)
  if (modeOf(path) === undefined) return none
  const fault = faultOf(path)
  if (fault !== undefined) return yield* usage(fault)
  const text = yield* Effect.try({
    try: () => readFileSync(path, "utf8"),
    catch: (error) => cannot(`Cannot read ${path}`, error)
  })
  const decoded = decode(text)
  return Result.isSuccess(decoded)
    ? decoded.success
    : yield* usage(`${path} is not a valid profiles file; delete it and log in again`)
})

/** The profile with this name, default: the current one, if there is one. */
export const find = (name: string | undefined): Effect.Effect<Profile | undefined, Failure> =>
  Effect.flatMap(read, ({ current, profiles }) => {
    const wanted = name ?? current
    if (wanted === null) return Effect.undefined
    const found = profiles[wanted]
    return found === undefined
      ? Effect.fail(usage(`there is no profile ${JSON.stringify(wanted)}; see webhook-trigger profile list`))
      : Effect.succeed(found)
  })

/** In one step, so that no other command reads half of it. */
export const write = (profiles: Profiles): Effect.Effect<string, Failure> =>
  Effect.gen(function* () {
    const found = yield* folder
    if (Option.isNone(found)) return yield* usage("there is no place for profiles; set XDG_CONFIG_HOME or HOME")
    const path = join(found.value, nameOfFile)
    yield* Effect.try({
      try: () => {
        mkdirSync(found.value, { recursive: true, mode: 0o700 })
        const next = `${path}.${process.pid}`
        writeFileSync(next, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
        chmodSync(next, 0o600)
        renameSync(next, path)
      },
      catch: (error) => cannot(`Cannot write ${path}`, error)
    })
    return path
  })
