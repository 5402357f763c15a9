/** A copy of a commit, where places are broken, the program is built and tests run. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript-5.9"
import { exec, startDaemon } from "../support/Process.ts"
import { mayBeBroken, type Place, replaced } from "./Places.ts"
import type { Ended, TestedFile } from "./Reporter.ts"

const here = fileURLToPath(new URL("../../", import.meta.url))

/** Of vite-node and npm, for this process. Builds and tests would take them for theirs. */
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
  /** Undefined if Vitest did not come to its end. */
  readonly ended: Ended | undefined
  /** The first one, of a test or outside all tests. */
  readonly failure: string | undefined
}

export class Tree {
  readonly root: string
  /** The files of `src` that may be broken, by their path from the root. */
  readonly sources: ReadonlyMap<string, string>
  /** The command of `npm test`. */
  readonly #test: string
  readonly #dir: string
  readonly #env: NodeJS.ProcessEnv

  private constructor(dir: string, env: NodeJS.ProcessEnv) {
    this.#dir = dir
    this.root = join(dir, "tree")
    this.#test = JSON.parse(readFileSync(join(this.root, "package.json"), "utf8")).scripts.test
    const inherited = Object.entries(process.env).filter(([name]) => !ofThisProcess.test(name))
    this.#env = { ...Object.fromEntries(inherited), ...env, PATH: `${this.root}/node_modules/.bin:${process.env.PATH}` }
    const files = readdirSync(join(this.root, "src"), { recursive: true, encoding: "utf8" }).map(
      (file) => `src/${file}`
    )
    const texts = files.filter(mayBeBroken).map((file) => [file, readFileSync(join(this.root, file), "utf8")] as const)
    this.sources = new Map(texts)
  }

  /** Copies and builds a commit. */
  static async of(commit: string, dir: string, env: Readonly<Record<string, string>>): Promise<Tree> {
    const root = join(dir, "tree")
    const modules = join(root, "node_modules")
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

  /** Runs `act` while the places have another text. */
  async whileChanged<A>(
    places: ReadonlyArray<Place>,
    text: (place: Place) => string,
    act: () => Promise<A>
  ): Promise<A> {
    const write = (file: string, source: string) => {
      writeFileSync(join(this.root, file), source)
      const compiled = join(this.root, file.replace(/^src/, "dist").replace(/\.ts$/, ".js"))
      if (!existsSync(compiled)) return
      // One file, in place of a minute of the compiler for all.
      writeFileSync(compiled, ts.transpileModule(source, { compilerOptions }).outputText)
    }
    try {
      for (const place of places) write(place.file, replaced(this.sources.get(place.file)!, place, text(place)))
      return await act()
    } finally {
      for (const { file } of places) write(file, this.sources.get(file)!)
    }
  }

  /** Those whose files have no type errors when all of them are broken. */
  compiling = (places: ReadonlyArray<Place>): Promise<ReadonlyArray<Place>> =>
    this.whileChanged(
      places,
      ({ broken }) => broken,
      async () => {
        // A dropped call may leave unused names.
        const options = ["--noEmit", "--pretty", "false", "--noUnusedLocals", "false", "--noUnusedParameters", "false"]
        const check = (project: string) =>
          this.#run("tsc", "-p", project, ...options).catch((error: { readonly stdout: string }) => error)
        const output = [await check("tsconfig.build.json"), await check("src/ui/tsconfig.json")]
        const lines = output.flatMap(({ stdout }) => stdout.split("\n"))
        const wrong = new Set(lines.map((line) => /^(src\/.*?)\(\d/.exec(line)?.[1]))
        return places.filter(({ file }) => !wrong.has(file))
      }
    )

  buildProgram = () => this.#run("npm", "run", "--silent", "build:program")

  /** Runs the suite, or files of it; at most for `limit` milliseconds. */
  async test(limit: number, ...args: ReadonlyArray<string>): Promise<TestRun> {
    const report = join(this.#dir, "report")
    writeFileSync(report, "")
    const reporter = fileURLToPath(new URL("Reporter.ts", import.meta.url))
    const env = { ...this.#env, MUTANTS_REPORT: report }
    const command = ["-c", `exec ${this.#test} "$@"`, "sh", `--reporter=${reporter}`, ...args]
    const vitest = startDaemon(join(this.#dir, "vitest"), "/bin/sh", command, { cwd: this.root, env })
    // Its group, with what the tests have started.
    const kill = () => {
      try {
        process.kill(-vitest.pid, "SIGKILL")
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
      }
    }
    let late = false
    const timer = setTimeout(() => {
      late = true
      kill()
    }, limit)
    await vitest.exited
    clearTimeout(timer)
    kill()
    const lines = readFileSync(report, "utf8").split("\n").filter(Boolean)
    const parsed = lines.map((line) => JSON.parse(line) as TestedFile | Ended)
    const files = parsed.filter((line) => "file" in line)
    const ended = parsed.find((line) => "passed" in line)
    const failed = files.find(({ failure }) => failure !== undefined)
    if (failed !== undefined) return { files, ended, failure: `${failed.file} > ${failed.failure}` }
    if (ended === undefined)
      return { files, ended, failure: late ? `no end within ${Math.round(limit / 1000)} s` : "Vitest crashed" }
    return { files, ended, failure: ended.passed ? undefined : `outside the tests: ${ended.errors[0]}` }
  }

  #run(program: string, ...args: ReadonlyArray<string>) {
    return exec(program, [...args], { cwd: this.root, env: this.#env, maxBuffer: 64 * 1024 * 1024 })
  }
}
