/** A copy of a commit, where places are broken, the program is built and tests run. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript-5.9"
import { exec, startDaemon } from "../support/Process.ts"
import { mayBeBroken, type Place, replaced } from "./Places.ts"
import type { Ended, TestedFile } from "./Reporter.ts"

const here = fileURLToPath(new URL("../../", import.meta.url))
const reporter = fileURLToPath(new URL("Reporter.ts", import.meta.url))

/** Variables that npm and vite-node set for this process. Builds and tests must not take them for their own. */
const ofThisProcess = /^(NODE_ENV|MODE|DEV|PROD|SSR|BASE_URL|TEST|VITE.*|npm_.*)$/

/** As in tsconfig.build.json. */
const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true
}

export interface TestRun {
  readonly files: ReadonlyArray<TestedFile>
  /** Vitest came to its end. */
  readonly ended: boolean
  readonly failure: string | undefined
}

export class Tree {
  readonly root: string
  /** The files of `src` that may be broken, by their path from the root. */
  readonly sources: ReadonlyMap<string, string>
  readonly #dir: string
  readonly #env: NodeJS.ProcessEnv

  private constructor(dir: string, env: Readonly<Record<string, string>>) {
    this.#dir = dir
    this.root = join(dir, "tree")
    const inherited = Object.entries(process.env).filter(([name]) => !ofThisProcess.test(name))
    this.#env = { ...Object.fromEntries(inherited), ...env, PATH: `${this.root}/node_modules/.bin:${process.env.PATH}` }
    const files = readdirSync(join(this.root, "src"), { recursive: true, encoding: "utf8" }).map(
      (file) => `src/${file}`
    )
    this.sources = new Map(files.filter(mayBeBroken).map((file) => [file, this.#read(file)]))
  }

  /** Copies and builds the commit. `env` is for the tests. */
  static async of(commit: string, dir: string, env: Readonly<Record<string, string>>): Promise<Tree> {
    const [root, modules] = [join(dir, "tree"), join(dir, "tree/node_modules")]
    mkdirSync(modules, { recursive: true })
    mkdirSync(join(dir, "vitest"))
    await exec("sh", ["-c", 'git archive "$0" | tar -x -C "$1"', commit, root], { cwd: here })
    // Each package, not the folder: what Vite stores in the folder stays in the copy.
    for (const name of readdirSync(join(here, "node_modules")).filter((name) => !name.startsWith(".vite"))) {
      symlinkSync(join(here, "node_modules", name), join(modules, name))
    }
    const tree = new Tree(dir, env)
    await tree.#run("npm", "run", "--silent", "build")
    return tree
  }

  buildProgram = () => this.#run("npm", "run", "--silent", "build:program")

  /** Runs `act` while the places have another text, also in the compiled modules. */
  async whileChanged<A>(
    places: ReadonlyArray<Place>,
    text: (place: Place) => string,
    act: () => Promise<A>
  ): Promise<A> {
    const write = (file: string, source: string) => {
      writeFileSync(join(this.root, file), source)
      const module = join(this.root, file.replace(/^src/, "dist").replace(/\.ts$/, ".js"))
      if (existsSync(module)) writeFileSync(module, ts.transpileModule(source, { compilerOptions }).outputText)
    }
    try {
      for (const place of places) write(place.file, replaced(this.sources.get(place.file)!, place, text(place)))
      return await act()
    } finally {
      for (const { file } of places) write(file, this.sources.get(file)!)
    }
  }

  /** The places whose files have no type error while all of them are broken. */
  compiling = (places: ReadonlyArray<Place>): Promise<ReadonlyArray<Place>> =>
    this.whileChanged(
      places,
      ({ broken }) => broken,
      async () => {
        // Only a dropped call used some names.
        const options = ["--noEmit", "--pretty", "false", "--noUnusedLocals", "false", "--noUnusedParameters", "false"]
        const wrong = new Set<string | undefined>()
        for (const project of ["tsconfig.build.json", "src/ui/tsconfig.json"]) {
          const run = this.#run("tsc", "-p", project, ...options)
          const { stdout } = await run.catch((error: { readonly stdout: string }) => error)
          for (const line of stdout.split("\n")) wrong.add(/^(src\/.*?)\(\d/.exec(line)?.[1])
        }
        return places.filter(({ file }) => !wrong.has(file))
      }
    )

  /** Runs what `npm test` runs, or parts of it; at most for `limit` milliseconds. */
  async test(limit: number, ...args: ReadonlyArray<string>): Promise<TestRun> {
    const report = join(this.#dir, "report")
    writeFileSync(report, "")
    const { test } = JSON.parse(this.#read("package.json")).scripts
    const command = ["-c", `${test} "$@"`, "sh", `--reporter=${reporter}`, ...args]
    const env = { ...this.#env, MUTANTS_REPORT: report }
    const vitest = startDaemon(join(this.#dir, "vitest"), "/bin/sh", command, { cwd: this.root, env })
    // The group: with what the tests have started and left behind.
    const kill = () => killGroup(vitest.pid)
    const timer = setTimeout(kill, limit)
    process.once("exit", kill)
    await vitest.exited
    process.off("exit", kill)
    clearTimeout(timer)
    kill()
    const lines = readFileSync(report, "utf8").split("\n").filter(Boolean)
    const parsed = lines.map((line) => JSON.parse(line) as TestedFile | Ended)
    const files = parsed.filter((line) => "file" in line)
    const end = parsed.find((line) => "passed" in line)
    const failed = files.find(({ failure }) => failure !== undefined)
    const outside =
      end === undefined ? `no end in ${Math.round(limit / 1000)} s, or a crash` : (end.errors[0] ?? "no test")
    const failure = failed === undefined ? outside : `${failed.file} > ${failed.failure}`
    return { files, ended: end !== undefined, failure: end?.passed ? undefined : failure }
  }

  #read(file: string): string {
    return readFileSync(join(this.root, file), "utf8")
  }

  #run(program: string, ...args: ReadonlyArray<string>) {
    return exec(program, [...args], { cwd: this.root, env: this.#env, maxBuffer: 64 * 1024 * 1024 })
  }
}

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}
