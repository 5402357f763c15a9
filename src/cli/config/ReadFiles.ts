/** Reads the files and folders of `--file`. */
import { readdirSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Array as Arr, Effect, Order, Result } from "effect"
import { Flag } from "effect/cli"
import type { Fault } from "../../domain/Errors.ts"
import { type Failure, usage } from "../Failure.ts"
import { readText } from "../Files.ts"
import { one } from "../Input.ts"
import { parse, type Source } from "./YamlFile.ts"

export const files = one("file", {
  kind: "file",
  value: "path",
  about: "A YAML file, a folder with .yaml, .yml or .json files, or `-` for standard input; may be repeated"
}).pipe(Flag.withAlias("f"), Flag.atLeast(1))

const isYaml = (name: string): boolean => /\.(ya?ml|json)$/.test(name)

/** A folder stands for its YAML files, by name. Files in folders below it are for their own use, such as prompts. */
const expand = (path: string): Effect.Effect<ReadonlyArray<string>, Failure> =>
  Effect.try({
    try: () => {
      if (path === "-" || !statSync(path).isDirectory()) return [path]
      return readdirSync(path)
        .filter(isYaml)
        .sort()
        .map((name) => join(path, name))
    },
    catch: () => usage(`cannot read ${JSON.stringify(path)}`)
  }).pipe(
    Effect.filterOrFail(
      (paths) => paths.length > 0,
      () => usage(`the folder ${JSON.stringify(path)} has no .yaml, .yml or .json file`)
    )
  )

/** All documents of all files. Lists every fault. */
export const readAll = Effect.fn("Cli.readConfig")(function* (paths: ReadonlyArray<string>) {
  const all = (yield* Effect.forEach(paths, expand)).flat()
  const results = yield* Effect.forEach(all, (path) =>
    Effect.gen(function* () {
      const text = yield* Effect.mapError(readText(path), usage)
      const isInput = path === "-"
      const name = isInput ? "standard input" : all.length === 1 ? basename(path) : path
      return yield* parse(name, isInput ? "." : dirname(path), text)
    })
  )
  const faults = results.flat().flatMap((result) => (Result.isFailure(result) ? result.failure : []))
  if (faults.length > 0) return yield* invalid(faults)
  return results.flat().map((result): Source => Result.getOrThrow(result))
})

const lineOf = ({ pointer }: Fault): number => Number(/:(\d+)$/.exec(pointer)?.[1] ?? 0)

/** In the order of the lines. */
const byPlace = Order.combine(
  Order.mapInput(Order.String, ({ pointer }: Fault) => pointer.replace(/:\d+$/, "")),
  Order.mapInput(Order.Number, lineOf)
)

/** Nothing was changed. */
export const invalid = (faults: ReadonlyArray<Fault>) =>
  usage("the configuration is invalid", Arr.sort(faults, byPlace))
