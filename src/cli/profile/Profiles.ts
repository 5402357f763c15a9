/** Signing in, and the profiles that it stores. */
import { Effect, Option, Record, Redacted } from "effect"
import { Argument, Flag, Prompt } from "effect/cli"
import type { Access } from "../../api/access/Access.ts"
import { connectionTo, flags, parseKey, urlOf } from "../Call.ts"
import { ask, group, local } from "../Command.ts"
import { usage } from "../Failure.ts"
import { readText } from "../Files.ts"
import { one } from "../Input.ts"
import { print, printJson, table, yesNo } from "../Output.ts"
import { read, write } from "./ProfileFile.ts"

export const accessText = ({ expires_at, key_name, role, teams }: Access): string =>
  [
    key_name === undefined ? "the admin key" : `the key ${key_name}`,
    `role ${role}`,
    ...(teams === undefined ? [] : [`teams ${teams.join(", ")}`]),
    ...(expires_at === undefined ? [] : [`until ${expires_at.toJSON()}`])
  ].join(", ")

const profile = (about: string) =>
  Flag.String("profile").pipe(Flag.withMetavar("name"), Flag.withDescription(about), Flag.optional)

const keyFile = one("key-file", {
  kind: "file",
  value: "file",
  about: "A file with the key; `-` reads it from standard input. Default: ask on the terminal"
}).pipe(Flag.optional)

export const login = local(
  "login",
  {
    about: "Check a key and store it, with the server's address, as a profile",
    details:
      "Other commands then need neither --url nor a key. Only you can read the file. The profile becomes the current one.",
    examples: [
      "webhook-trigger login --url https://hooks.example.com",
      "webhook-trigger login --url https://staging.example.com --profile staging --key-file staging.key"
    ]
  },
  { url: flags.url, profile: profile("The name of the profile; default: default"), keyFile, json: flags.json },
  Effect.fnUntraced(function* ({ json, keyFile, ...options }) {
    const name = Option.getOrElse(options.profile, () => "default")
    // A word that also fits in a file name and on a command line.
    if (!/^[\w.-]{1,63}$/.test(name)) {
      return yield* usage("--profile must be 1 to 63 letters, digits, dots, hyphens or underscores")
    }
    const url = yield* urlOf(options.url)
    const { profiles } = yield* read
    const text = Option.isSome(keyFile)
      ? yield* Effect.mapError(readText(keyFile.value), (detail) => usage(`--key-file: ${detail}`))
      : Redacted.value(
          yield* ask(
            Prompt.Hidden({ message: `Key for ${url}:` }),
            "without a terminal, use --key-file FILE, or --key-file - for standard input"
          )
        )
    const key = parseKey(text)
    if (Option.isNone(key)) return yield* usage("the key must contain only ASCII letters, digits and punctuation")
    const access = yield* connectionTo(url, key, json).call((client) => client.apiKeys.current())
    const path = yield* write({
      current: name,
      profiles: { ...profiles, [name]: { url, key: Redacted.value(key.value) } }
    })
    yield* json
      ? printJson({ profile: name, url, role: access.role })
      : print(`Signed in to ${url} with ${accessText(access)}. Stored as the profile ${name} in ${path}.`)
  })
)

export const logout = local(
  "logout",
  { about: "Delete a profile and its key from this computer" },
  { profile: profile("The profile; default: the current one"), json: flags.json },
  Effect.fnUntraced(function* (options) {
    const { current, profiles } = yield* read
    const name = Option.getOrElse(options.profile, () => current)
    if (name === null) return yield* usage("there is no current profile")
    if (profiles[name] === undefined) return yield* usage(`there is no profile ${JSON.stringify(name)}`)
    yield* write({ current: current === name ? null : current, profiles: Record.remove(profiles, name) })
    if (!options.json) yield* print(`The profile ${name} and its key were deleted here. The key itself is still valid.`)
  })
)

const list = local("list", { about: "List the profiles" }, { json: flags.json }, ({ json }) =>
  Effect.flatMap(read, ({ current, profiles }) => {
    const data = Object.entries(profiles).map(([name, { url }]) => ({ name, url, current: name === current }))
    if (json) return printJson({ data })
    return print(
      data.length === 0
        ? "No profiles yet. Create one: webhook-trigger login --url <address>"
        : table(
            ["NAME", "URL", "CURRENT"],
            data.map(({ name, url, current }) => [name, url, yesNo(current)])
          )
    )
  })
)

const named = Argument.String("profile").pipe(Argument.withDescription("The name of a profile"))

const use = local(
  "use",
  { about: "Make a profile the current one" },
  { named },
  Effect.fnUntraced(function* ({ named }) {
    const { profiles } = yield* read
    if (profiles[named] === undefined) return yield* usage(`there is no profile ${JSON.stringify(named)}`)
    yield* write({ current: named, profiles })
    yield* print(`The profile ${named} is the current one.`)
  })
)

export const profiles = group("profile", "Profiles: servers with keys, which login stores.", [list, use])
