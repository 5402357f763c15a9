/** The key of webhooks' secrets for a server without `SECRETS_KEY`: a file in the data folder, made when it is needed first. */
import { readFileSync } from "node:fs"
import { link, mkdir, rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect, Layer } from "effect"
import { keyText, makeKey, parseKey, type SecretKey, SecretKeys } from "../engine/SecretKeys.ts"

const read = (path: string): SecretKey | undefined => {
  try {
    return parseKey(readFileSync(path, "utf8").trim())
  } catch {
    return undefined
  }
}

/** Of servers that make one at once, one succeeds, and all read that. */
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
      `Webhooks' secrets are encrypted with a new key in ${resolve(path)}: keep a copy of it, or set SECRETS_KEY`
    )
  })

export const layer = (folder: string): Layer.Layer<SecretKeys> => {
  const path = join(folder, "secrets.key")
  let known: SecretKey | undefined
  // Another worker may make it at any time.
  const all = () => {
    known ??= read(path)
    return known === undefined ? [] : [known]
  }
  const first = Effect.suspend(() =>
    all().length > 0 ? Effect.succeed(all()[0]) : Effect.map(Effect.exit(make(folder, path)), () => all()[0])
  )
  return Layer.succeed(SecretKeys, { all, first })
}
