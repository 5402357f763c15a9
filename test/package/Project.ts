/** Another project, with this package installed from its tarball, and the guide's examples as its files. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { cleanUpAtExit, type Daemon, exec, startDaemon } from "../support/Process.ts"

export const root = fileURLToPath(new URL("../../", import.meta.url))

/** A compiled file that runs in the background. */
export interface RunningFile extends Daemon {
  /** Its output so far. */
  readonly output: () => string
}

export interface Project {
  readonly dir: string
  readonly tarball: string
  /** The folder of the installed package. */
  readonly installed: string
  /**
   * Compiles all files, once. Returns TypeScript's errors in them and in this package's declarations. The declarations
   * of Vitest and Effect's platform have errors of their own.
   */
  readonly compile: () => Promise<string>
  /** The same errors from the TypeScript in this repository's `node_modules/<typescript>`, without output. */
  readonly complaints: (typescript: string) => Promise<string>
  /** Starts a compiled file in the background. */
  readonly start: (file: string, env: Readonly<Record<string, string>>) => RunningFile
  readonly run: (program: string, ...args: ReadonlyArray<string>) => Promise<string>
  readonly remove: () => Promise<void>
}

/** A program's output. If it fails, the error shows all of it. */
const output = async (
  program: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv }
): Promise<string> => {
  try {
    return (await exec(program, [...args], { ...options, maxBuffer: 64 * 1024 * 1024 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string }
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}\n${stderr}`, { cause: error })
  }
}

/** The environment without the variables of this test run. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV$|TEST$|npm_(package|lifecycle)_)/.test(name))
  )

/** The fenced blocks of a language in a Markdown file. */
const blocksIn = (markdown: string, language: string): ReadonlyArray<string> =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, text]) => text!)

const npm = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"]

const tsconfig = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023", "DOM"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    declaration: true,
    skipLibCheck: false
  },
  include: ["**/*.ts"]
}

/** Packs and installs the package with the guide's commands. `files` are added to the guide's own. */
export const makeProject = async (files: Readonly<Record<string, string>>): Promise<Project> => {
  const base = mkdtempSync(join(tmpdir(), "webhook-trigger-package-"))
  const remove = cleanUpAtExit(base)
  const dir = join(base, "host")
  const env = environment()
  const run: Project["run"] = (program, ...args) => output(program, args, { cwd: dir, env })
  try {
    mkdirSync(dir)
    // The result of `npm run build`, which `npm test` runs first.
    const packed = await output("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", base], {
      cwd: root,
      env
    })
    const tarball = join(base, JSON.parse(packed)[0].filename)
    writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, type: "module" }))
    const guide = readFileSync(join(root, "docs/internals/embedding.md"), "utf8")
    for (const line of blocksIn(guide, "sh")[0]!.trim().split("\n")) {
      const [program, ...args] = line.replace(`./${basename(tarball)}`, tarball).split(/\s+/)
      await run(program!, ...args, ...npm)
    }
    const installed = join(dir, "node_modules/webhook-trigger")
    for (const page of ["internals/embedding.md", "internals/drivers.md", "use/leaders.md", "reference/client.md"]) {
      for (const block of blocksIn(readFileSync(join(installed, "docs", page), "utf8"), "ts")) {
        const name = /^\/\/ (\S+\.ts)\n/.exec(block)?.[1]
        if (name === undefined) throw new Error(`a block of docs/${page} does not name its file:\n${block}`)
        writeFileSync(join(dir, name), block)
      }
    }
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, name)), { recursive: true })
      writeFileSync(join(dir, name), text)
    }
    cpSync(join(root, "test/package/declarations.mjs"), join(dir, "declarations.mjs"))
    writeFileSync(join(dir, "everything.ts"), await run(process.execPath, "declarations.mjs"))
    writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(tsconfig))

    const compile = async (): Promise<string> => {
      const tsc = join(root, "node_modules/typescript/bin/tsc")
      try {
        await exec(process.execPath, [tsc, "-p", ".", "--outDir", "out"], { cwd: dir })
        return ""
      } catch (error) {
        const lines = (error as { readonly stdout: string }).stdout.trim().split("\n")
        return lines.filter((line) => !/^( |node_modules\/(?!webhook-trigger\/))/.test(line)).join("\n")
      }
    }
    let compiled: Promise<string> | undefined

    return {
      dir,
      tarball,
      installed,
      run,
      remove,
      compile: () => {
        compiled ??= compile()
        return compiled
      },
      complaints: (typescript) =>
        run(process.execPath, join(root, "test/package/diagnostics.mjs"), join(root, "node_modules", typescript)),
      start: (file, variables) => {
        const folder = mkdtempSync(join(base, `${file}-`))
        const daemon = startDaemon(folder, process.execPath, [join(dir, "out", `${file}.js`)], {
          cwd: folder,
          env: { PATH: process.env.PATH, ...variables }
        })
        return { ...daemon, output: () => readFileSync(join(folder, "output.log"), "utf8") }
      }
    }
  } catch (error) {
    await remove()
    throw error
  }
}
