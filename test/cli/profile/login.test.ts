import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { runWith } from "../CommandLine.ts"
import * as Program from "../Program.ts"
import { ADMIN_API_KEY, sharedServer } from "../SharedServer.ts"

const { address, json } = sharedServer()

/** A user's folder for settings, and commands of that user. */
const newUser = Effect.map(temporaryFolder, (folder) => {
  const keyFile = join(folder, "key")
  writeFileSync(keyFile, `${ADMIN_API_KEY}\n`)
  const XDG_CONFIG_HOME = join(folder, "config")
  const runAt = (variables: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
    runWith({ XDG_CONFIG_HOME, ...variables }, ...words)
  return {
    XDG_CONFIG_HOME,
    keyFile,
    file: join(XDG_CONFIG_HOME, "webhook-trigger", "profiles.json"),
    runAt,
    run: (...words: ReadonlyArray<string>) => runAt({}, ...words)
  }
})

describe("login", () => {
  it.live("checks the key, shows its role, and stores it for the commands after it, for its user only", function* () {
    const { file, keyFile, run, runAt } = yield* newUser
    const none = yield* run("team", "list", "--url", address())
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("run webhook-trigger login")])

    const wrong = join(file, "..", "..", "..", "wrong")
    writeFileSync(wrong, "another-key-than-that")
    const refused = yield* run("login", "--url", address(), "--key-file", wrong)
    expect(refused.code).toBe(1)
    expect(existsSync(file)).toBe(false)

    const signedIn = yield* run("login", "--url", address(), "--key-file", keyFile)
    expect([signedIn.code, signedIn.stderr]).toEqual([0, ""])
    expect(signedIn.stdout).toContain(`Signed in to ${address()} with the admin key, role admin.`)
    expect([file, join(file, "..")].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700])
    expect((yield* run("team", "list")).stdout).toContain("demo")

    const { key } = yield* Effect.promise(async () => {
      const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }
      const body = JSON.stringify({ name: "laptop", role: "viewer" })
      return (await (await fetch(`${address()}/api/keys`, { method: "POST", headers, body })).json()) as {
        key: string
      }
    })
    writeFileSync(wrong, key)
    const viewer = yield* run("login", "--url", address(), "--profile", "read", "--key-file", wrong)
    expect(viewer.stdout).toContain("with the key laptop, role viewer. Stored as the profile read")
    expect((yield* run("team", "create", "mine")).code).toBe(1)
    // Options before the environment, the environment before profiles.
    expect((yield* run("--profile", "default", "team", "create", "mine")).code).toBe(0)
    expect((yield* runAt({ WEBHOOK_PROFILE: "default" }, "team", "delete", "mine", "--yes")).code).toBe(0)
    expect((yield* runAt({ ADMIN_API_KEY }, "team", "create", "mine")).code).toBe(0)
    expect((yield* runAt({ ADMIN_API_KEY }, "team", "create", "other", "--profile", "read")).code).toBe(1)
    expect((yield* runAt({ ADMIN_API_KEY }, "team", "delete", "mine", "--yes")).code).toBe(0)

    const listed = yield* run("profile", "list")
    expect(listed.stdout).toMatch(/default +http\S+ +no\nread +http\S+ +yes\n/)
    expect((yield* run("profile", "use", "default")).code).toBe(0)
    expect((yield* run("audit", "list")).code).toBe(0)
    expect((yield* run("logout", "--profile", "read")).code).toBe(0)
    const gone = yield* run("team", "list", "--profile", "read")
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining('there is no profile "read"')])
    expect((yield* run("logout")).code).toBe(0)
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ current: null, profiles: {} })
    for (const { stderr, stdout } of [signedIn, viewer, listed]) {
      expect(stdout + stderr).not.toContain(ADMIN_API_KEY)
      expect(stdout + stderr).not.toContain(key)
    }
  })

  it.live("sends a profile's key to no other server", function* () {
    const { keyFile, run, runAt } = yield* newUser
    yield* run("login", "--url", address(), "--key-file", keyFile)
    const sent: Array<string | undefined> = []
    const other = createServer((request, response) => {
      sent.push(request.headers.authorization)
      response.writeHead(500).end()
    })
    yield* Effect.promise(() => new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve)))
    const url = `http://127.0.0.1:${(other.address() as { port: number }).port}`
    yield* run("team", "list", "--url", url)
    yield* run("team", "list", "--url", url, "--profile", "default")
    yield* runAt({ WEBHOOK_TRIGGER_URL: url }, "team", "list")
    other.close()
    expect(sent).toEqual([undefined, undefined, undefined])
  })

  it.live("does not use a file that others can read or replace", function* () {
    const { file, keyFile, run } = yield* newUser
    yield* run("login", "--url", address(), "--key-file", keyFile)
    chmodSync(file, 0o640)
    const readable = yield* run("team", "list")
    expect([readable.code, readable.stderr]).toEqual([2, expect.stringContaining(`chmod 600 ${file}`)])
    chmodSync(file, 0o600)
    chmodSync(join(file, ".."), 0o777)
    const writable = yield* run("team", "list")
    expect([writable.code, writable.stderr]).toEqual([2, expect.stringContaining("chmod 700")])
    expect((yield* run("version")).code).toBe(0)
    chmodSync(join(file, ".."), 0o700)
    expect((yield* run("team", "list")).code).toBe(0)
  })

  it.live("asks for the key on a terminal without showing it, and requires a file without one", function* () {
    const { XDG_CONFIG_HOME, file, run } = yield* newUser
    const words = ["login", "--url", address()]
    const without = yield* Program.run(words, { XDG_CONFIG_HOME })
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("--key-file -")])
    const piped = yield* Program.shell(
      `echo ${ADMIN_API_KEY} | XDG_CONFIG_HOME='${XDG_CONFIG_HOME}' '${process.execPath}' '${Program.program}' login --url ${address()} --profile piped --key-file -`
    )
    expect(piped).toMatchObject({ code: 0, stderr: "" })

    const asks = /Key for \S+:/
    const typed = yield* Program.onTerminal(`${ADMIN_API_KEY}\n`, words, { XDG_CONFIG_HOME }, asks)
    expect(typed.stdout).toContain("role admin")
    expect(typed.stdout).not.toContain(ADMIN_API_KEY)
    expect(typed.code).toBe(0)
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).profiles)).toEqual(["piped", "default"])
    expect((yield* run("team", "list")).code).toBe(0)
    const interrupted = yield* Program.onTerminal("\x03", [...words, "--profile", "x"], { XDG_CONFIG_HOME }, asks)
    expect(interrupted.code).toBe(130)
    expect((yield* json("team", "list")).data.length).toBeGreaterThan(0)
  })
})
