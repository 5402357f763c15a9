import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { keyText, SecretKeys } from "../../src/engine/verify/SecretKeys.ts"
import * as SecretsKeyFile from "../../src/server/SecretsKeyFile.ts"
import * as Program from "../cli/Program.ts"
import { freshDatabase } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "secrets-key-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true }))
)

/** The keys of a server that was just started on the folder. */
const started = (folder: string) => Effect.provide(SecretKeys, SecretsKeyFile.layer(folder))

it.live("the key beside an embedded database is made once, for its owner only, and found again", function* () {
  const path = yield* folder
  const keys = yield* started(path)
  expect(keys.all()).toEqual([])
  const made = keyText((yield* keys.first)!)
  expect(keys.all().map(keyText)).toEqual([made])
  expect(keyText((yield* keys.first)!)).toBe(made)
  expect((yield* Effect.promise(() => stat(join(path, "secrets.key")))).mode & 0o777).toBe(0o600)
  expect((yield* started(path)).all().map(keyText)).toEqual([made])
})

it.live("a file that is no key is left alone, and nothing can be encrypted", function* () {
  const path = yield* folder
  yield* Effect.promise(() => writeFile(join(path, "secrets.key"), "damaged"))
  const keys = yield* started(path)
  expect(yield* keys.first).toBeUndefined()
  expect(keys.all()).toEqual([])
  expect(yield* Effect.promise(() => readFile(join(path, "secrets.key"), "utf8"))).toBe("damaged")
})

describe("a server with a database that others can share", () => {
  it.live("takes its key from SECRETS_KEY, and makes none", function* () {
    const DATA_DIR = yield* folder
    const { url } = yield* Program.serve({ DATABASE_URL: yield* freshDatabase, DATA_DIR, ADMIN_API_KEY })
    const create = (body: object) =>
      Effect.promise(async () => {
        const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }
        const response = await fetch(`${url}/api/webhooks`, { method: "POST", headers, body: JSON.stringify(body) })
        return { status: response.status, text: await response.text() }
      })
    const webhook = { name: "signed", team: "demo", prompt_template: "go" }
    const refused = yield* create({ ...webhook, verification: { preset: "github" }, secret: "a secret" })
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("SECRETS_KEY")])
    expect((yield* create(webhook)).status).toBe(201)
    const file = Effect.tryPromise(() => stat(join(DATA_DIR, "secrets.key")))
    expect(yield* Effect.result(file)).toMatchObject({ _tag: "Failure" })
  })
})
