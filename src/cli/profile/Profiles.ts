/** Signing in, and the profiles that it stores. */

import { createInterface } from "node:readline"
import { Writable } from "node:stream"
import { Effect, Option, Record, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Access } from "../../api/access/Access.ts"
import type { Group } from "../Commands.ts"
import { call, json, parseKey, profileName, url } from "../Connection.ts"
import { type Failure, usage } from "../Failure.ts"
import { fileOf, readText } from "../Files.ts"
import { about } from "../Help.ts"
import { print, printJson, table, yesNo } from "../Output.ts"
import { read, write } from "./ProfileFile.ts"

const defaultProfile = "default"

const keyFile = Flag.String("key-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("A file with the key; `-` reads it from standard input. Default: ask on the terminal"),
  Flag.mapEffect(fileOf("key-file", readText)),
  Flag.optional
)

const profile = profileName("The name of the profile; default: default")

const accessText = ({ expires_at, key_name, role, teams }: Access): string =>
  [
    key_name === undefined ? "the admin key" : `the key ${key_name}`,
    `role ${role}`,
    ...(teams === undefined ? [] : [`teams ${teams.join(", ")}`]),
    ...(expires_at === undefined ? [] : [`until ${expires_at.toJSON()}`])
  ].join(", ")

export const login = Command.make("login", { url, profile, keyFile, json }, (options) =>
  Effect.gen(function* () {
    const profiles = yield* read
    const text = Option.isSome(options.keyFile) ? options.keyFile.value : yield* askKey(options.url)
    const adminKey = parseKey(Redacted.make(text))
    if (Option.isNone(adminKey)) return yield* usage("the key must contain only ASCII letters, digits and punctuation")
    const access = yield* call({ ...options, adminKey }, (client) => client.apiKeys.current())
    const name = Option.getOrElse(options.profile, () => defaultProfile)
    const stored = { url: options.url, key: Redacted.value(adminKey.value) }
    const path = yield* write({ current: name, profiles: { ...profiles.profiles, [name]: stored } })
    yield* options.json
      ? printJson({ profile: name, url: options.url, role: access.role })
      : print(`Signed in to ${options.url} with ${accessText(access)}. Stored as the profile ${name} in ${path}.`)
  })
).pipe(
  Command.withDescription(
    about("Check a key and store it, with the server's address, as a profile", {
      details:
        "Other commands then need neither --url nor a key. Only you can read the file. The profile becomes the current one.",
      examples: [
        "webhook-trigger login --url https://hooks.example.com",
        "webhook-trigger login --url https://staging.example.com --profile staging --key-file staging.key"
      ]
    })
  )
)

export const logout = Command.make(
  "logout",
  { profile: profileName("The profile; default: the current one"), json },
  (options) =>
    Effect.gen(function* () {
      const { current, profiles } = yield* read
      const name = Option.getOrElse(options.profile, () => current)
      if (name === null) return yield* usage("there is no current profile")
      if (profiles[name] === undefined) return yield* usage(`there is no profile ${JSON.stringify(name)}`)
      yield* write({ current: current === name ? null : current, profiles: Record.remove(profiles, name) })
      if (!options.json)
        yield* print(`The profile ${name} and its key were deleted here. The key itself is still valid.`)
    })
).pipe(Command.withDescription("Delete a profile and its key from this computer"))

const list = Command.make("list", { json }, (options) =>
  Effect.gen(function* () {
    const { current, profiles } = yield* read
    const all = Object.entries(profiles).map(([name, { url }]) => ({ name, url, current: name === current }))
    if (options.json) return yield* printJson({ data: all })
    yield* print(
      all.length === 0
        ? "No profiles yet. Create one: webhook-trigger login --url <address>"
        : table(
            ["NAME", "URL", "CURRENT"],
            all.map(({ name, url, current }) => [name, url, yesNo(current)])
          )
    )
  })
).pipe(Command.withDescription("List the profiles"))

const named = Argument.String({ name: "profile" }).pipe(Argument.withDescription("The name of a profile"))

const use = Command.make("use", { named }, ({ named }) =>
  Effect.gen(function* () {
    const { profiles } = yield* read
    if (profiles[named] === undefined) return yield* usage(`there is no profile ${JSON.stringify(named)}`)
    yield* write({ current: named, profiles })
    yield* print(`The profile ${named} is the current one.`)
  })
).pipe(Command.withDescription("Make a profile the current one"))

export const profiles: Group = {
  name: "profile",
  about: "Profiles: servers with keys, which login stores.",
  commands: [list, use]
}

/** Reads a line from the terminal without showing it. The question goes to standard error. */
const hiddenLine = (question: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    // Node switches the terminal's echo off before it asks.
    const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
    let answer = ""
    terminal.once("line", (line) => {
      answer = line
      terminal.close()
    })
    // Without the terminal's own handling of keys, Ctrl-C is only a character.
    terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"))
    terminal.once("close", () => {
      process.stderr.write("\n")
      resume(Effect.succeed(answer))
    })
    process.stderr.write(question)
    return Effect.sync(() => terminal.close())
  })

const askKey = (url: string): Effect.Effect<string, Failure> =>
  process.stdin.isTTY && process.stderr.isTTY
    ? hiddenLine(`Key for ${url}: `)
    : Effect.fail(usage("without a terminal, use --key-file FILE, or --key-file - for standard input"))
