/** The secrets key of an embedded database: a file in its folder, created on first use. */
import { readFileSync } from "node:fs"
import { link, mkdir, rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect, Layer } from "effect"
import { keyText, makeKey, parseKey, type SecretKey, SecretKeys } from "../engine/verify/SecretKeys.ts"

const read = (path: string): SecretKey | undefined => {
  try {
    return parseKey(readFileSync(path, "utf8").trim())
  } catch {
    return undefined
  }
}

/** The file is either complete or missing. An existing file is never replaced. */
const make = (folder: string, path: string) =>
  Effect.gen(function* () {
    const key = yield* makeKey
    const draft = `${path}.${process.pid}`
    yield* Effect.promise(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(draft, `${keyText(key)}\n`, { mode: 0o600 })
      await link(draft, path).catch(() => {})
      await rm(draft, { force: true })
    })
    yield* Effect.logWarning(
      `Webhooks' secrets are encrypted with a new key in ${resolve(path)}; include it in backups of the folder`
    )
  })

export const layer = (folder: string): Layer.Layer<never> =>
  Layer.sync(SecretKeys, () => {
    const path = join(folder, "secrets.key")
    let known = read(path)
    const first = Effect.suspend(() =>
      known === undefined
        ? Effect.map(Effect.exit(make(folder, path)), () => (known = read(path)))
        : Effect.succeed(known)
    )
    return { all: () => (known === undefined ? [] : [known]), first }
  })
