/** Which test files can reach which places: found by one run of the suite, in which each place leaves marks. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import { keyOf, type Place } from "./Places.ts"
import type { TestedFile } from "./Reporter.ts"
import type { Tree } from "./Tree.ts"

export interface Reach {
  /** The test files that passed. */
  readonly files: Readonly<Record<string, Pick<TestedFile, "longest"> & { readonly seconds: number }>>
  /** For each place, the files that can reach it: first those that certainly do, then the quickest. */
  readonly of: Readonly<Record<string, ReadonlyArray<string>>>
}

/**
 * An expression that writes to a file, once each: the test file that Vitest's worker runs, after `load ` if it is only
 * being loaded; in a process that a test has started, the second. It imports nothing and takes all from where it runs,
 * so it works in every bundle. In a browser it does nothing.
 */
const marker = (path: string): string =>
  `((g: any, w: any) => {
    const at = w === undefined
      ? Math.floor(Date.now() / 1000)
      : (w.current?.file?.collectDuration === undefined ? "load " : "") + w.filepath
    const seen = g.reachedPlaces ??= new Set(), mark = "${path} " + at
    if (!seen.has(mark)) g.process?.getBuiltinModule?.("node:fs").appendFileSync("${path}", at + "\\n")
    seen.add(mark)
  })(globalThis, (globalThis as any).__vitest_worker__)`.replace(/\n */g, " ")

/** Returns, for a file of `src`, the test files that import it. */
const importers = async (
  tree: Tree,
  tests: ReadonlyArray<string>
): Promise<(file: string) => ReadonlyArray<string>> => {
  const { metafile } = await build({
    ...{ absWorkingDir: tree.root, entryPoints: [...tests], outdir: join(tree.root, "none"), write: false },
    ...{ bundle: true, splitting: true, metafile: true, format: "esm", platform: "node", packages: "external" },
    logLevel: "error"
  })
  const reachableFrom = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
    if (seen.has(file)) return seen
    seen.add(file)
    for (const { path } of metafile.inputs[file]?.imports ?? []) reachableFrom(path, seen)
    return seen
  }
  const reachable = tests.map((test) => [test, reachableFrom(test)] as const)
  return (file) => reachable.filter(([, files]) => files.has(file)).map(([test]) => test)
}

/** Runs the suite, or with `args` parts of it. */
export const measureReach = async (
  tree: Tree,
  places: ReadonlyArray<Place>,
  dir: string,
  args: ReadonlyArray<string>
): Promise<Reach> => {
  const folder = join(dir, "marks")
  mkdirSync(folder)
  // Some tests start a process of another user.
  chmodSync(folder, 0o777)
  const pathOf = (place: Place) => join(folder, String(places.indexOf(place)))
  const inBrowser = new Set<Place>()
  const run = await tree.whileChanged(
    places,
    (place) => place.marked(marker(pathOf(place))),
    async () => {
      await tree.buildProgram()
      const ui = join(tree.root, "dist/ui/assets")
      const scripts = readdirSync(ui).filter((name) => name.endsWith(".js"))
      const text = scripts.map((name) => readFileSync(join(ui, name), "utf8")).join()
      for (const place of places) if (text.includes(`${pathOf(place)} `)) inBrowser.add(place)
      return tree.test(2 * 3600_000, ...args)
    }
  )
  if (run.ended === undefined) throw new Error(`the suite did not end: ${run.failure}`)
  for (const { failure, file } of run.files) {
    if (failure !== undefined) console.log(`left out, since it fails without any mutant: ${file} > ${failure}`)
  }
  const passed = run.files.filter(({ failure }) => failure === undefined)
  const secondsOf = ({ begin, end }: TestedFile) => (end - begin) / 1000
  const importersOf = await importers(
    tree,
    passed.map(({ file }) => file)
  )

  const reached = (place: Place): ReadonlyArray<string> => {
    const marks = existsSync(pathOf(place)) ? readFileSync(pathOf(place), "utf8").trim().split("\n") : []
    const sure = new Set(marks.map((mark) => mark.slice(tree.root.length + 1)))
    // Modules are loaded once in each worker, whose later files use them too.
    const loading = marks.some((mark) => mark.startsWith("load ")) ? importersOf(place.file) : []
    const times = marks.map(Number).filter((second) => !Number.isNaN(second))
    const isPossible = (tested: TestedFile) =>
      loading.includes(tested.file) ||
      (inBrowser.has(place) && tested.file.startsWith("test/ui/")) ||
      times.some((second) => tested.begin < (second + 1) * 1000 && second * 1000 <= tested.end)
    const isSure = ({ file }: TestedFile) => sure.has(file)
    return passed
      .filter((tested) => isSure(tested) || isPossible(tested))
      .sort((a, b) => Number(isSure(b)) - Number(isSure(a)) || secondsOf(a) - secondsOf(b))
      .map(({ file }) => file)
  }
  return {
    files: Object.fromEntries(
      passed.map((tested) => [tested.file, { longest: tested.longest, seconds: secondsOf(tested) }])
    ),
    of: Object.fromEntries(places.map((place) => [keyOf(place), reached(place)]))
  }
}
