/** Which test files can reach which places: one run of the suite, in which the places leave marks, shows it. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import { keyOf, type Place } from "./Places.ts"
import type { TestedFile } from "./Reporter.ts"
import type { Tree } from "./Tree.ts"

export interface Reach {
  /** The test files that passed, with the duration of the file and of its longest test in milliseconds. */
  readonly files: Readonly<Record<string, { readonly duration: number; readonly longest: number }>>
  /** For each place, the files that can reach it: those that certainly do, the closest and the quickest come first. */
  readonly of: Readonly<Record<string, ReadonlyArray<string>>>
}

/**
 * An expression that writes a mark to the file `path`, once each: the test file that Vitest's worker runs, after
 * `load:` if it is only being loaded; in a process that a test has started, the second. It imports nothing, and the
 * path is part of it, so it works in every bundle and without environment variables. In a browser it does nothing.
 */
const marker = (path: string): string =>
  `((g: any, w: any) => {
    const isLoading = w?.current?.file?.collectDuration === undefined
    const mark = w === undefined ? Math.floor(Date.now() / 1000) : (isLoading ? "load:" : "") + w.filepath
    const known = g.marksOfPlaces ??= new Set()
    if (known.has("${path} " + mark)) return
    known.add("${path} " + mark)
    g.process?.getBuiltinModule?.("node:fs").appendFileSync("${path}", mark + "\\n")
  })(globalThis, (globalThis as any).__vitest_worker__)`

/** Which of the test files import a file. */
const importers = async (root: string, tests: ReadonlyArray<string>) => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...tests],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: "none",
    write: false,
    metafile: true
  })
  const imported = (file: string, known: Set<string>): ReadonlySet<string> => {
    if (known.has(file)) return known
    known.add(file)
    for (const { path } of metafile.inputs[file]?.imports ?? []) imported(path, known)
    return known
  }
  const all = tests.map((test) => [test, imported(test, new Set())] as const)
  return (file: string): ReadonlyArray<string> => all.filter(([, files]) => files.has(file)).map(([test]) => test)
}

/** How much of their paths a file of `src` and a test file have in common: tests are in the corresponding folder. */
const closeness = (file: string, test: string): number => {
  const [a, b] = [file, test].map((path) =>
    path
      .replace(/(\.test)?\.tsx?$/, "")
      .split("/")
      .slice(1)
  ) as [string[], string[]]
  const differing = a.findIndex((name, index) => name !== b[index])
  return differing === -1 ? a.length : differing
}

/** Runs the suite, or the part of it that `args` select. */
export const measureReach = async (
  tree: Tree,
  places: ReadonlyArray<Place>,
  dir: string,
  args: ReadonlyArray<string>
): Promise<Reach> => {
  const folder = join(dir, "marks")
  mkdirSync(folder)
  // Tests may start a process of another user.
  chmodSync(folder, 0o777)
  const pathOf = (place: Place) => join(folder, `${places.indexOf(place)}.txt`)
  const inBrowser = new Set<Place>()
  const { ended, failure, files } = await tree.whileChanged(
    places,
    (place) => place.marked(marker(pathOf(place))),
    async () => {
      await tree.buildProgram()
      const ui = join(tree.root, "dist/ui/assets")
      const scripts = readdirSync(ui).filter((name) => name.endsWith(".js"))
      const text = scripts.map((name) => readFileSync(join(ui, name), "utf8")).join()
      for (const place of places) if (text.includes(pathOf(place))) inBrowser.add(place)
      return tree.test(3 * 3_600_000, ...args)
    }
  )
  if (!ended) throw new Error(`the run of the suite failed: ${failure}`)
  for (const { failure, file } of files) {
    if (failure !== undefined) console.log(`left out, since it fails without a mutant: ${file} > ${failure}`)
  }
  const passed = files.filter(({ failure }) => failure === undefined)
  const importersOf = await importers(
    tree.root,
    passed.map(({ file }) => file)
  )

  const reached = (place: Place): ReadonlyArray<string> => {
    const marks = existsSync(pathOf(place)) ? readFileSync(pathOf(place), "utf8").trim().split("\n") : []
    const seconds = marks.map(Number).filter((second) => !Number.isNaN(second))
    const sure = new Set(marks.map((mark) => mark.slice(tree.root.length + 1)))
    // A worker loads a module once, and its later files use it too.
    const possible = new Set(marks.some((mark) => mark.startsWith("load:")) ? importersOf(place.file) : [])
    for (const { begin, end, file } of passed) {
      const wasRunning = seconds.some((second) => begin < (second + 1) * 1000 && second * 1000 <= end)
      if (wasRunning || (inBrowser.has(place) && file.startsWith("test/ui/"))) possible.add(file)
    }
    const rank = ({ file }: TestedFile) => (sure.has(file) ? 100 : 0) + closeness(place.file, file)
    return passed
      .filter(({ file }) => sure.has(file) || possible.has(file))
      .sort((a, b) => rank(b) - rank(a) || a.end - a.begin - (b.end - b.begin))
      .map(({ file }) => file)
  }
  const durations = passed.map(({ begin, end, file, longest }) => [file, { duration: end - begin, longest }] as const)
  return {
    files: Object.fromEntries(durations),
    of: Object.fromEntries(places.map((place) => [keyOf(place), reached(place)]))
  }
}
