/** Vitest's reporter in runs on mutants: a line of JSON for each test file and for the end, in the file `MUTANTS_REPORT`. */
import { appendFileSync } from "node:fs"
import { relative } from "node:path"
import type { Reporter, TestModule, Vitest } from "vitest/node"

/** A test file that has run. */
export interface TestedFile {
  readonly file: string
  /** When its worker began to load it and when its last hook ended, in milliseconds since 1970. */
  readonly begin: number
  readonly end: number
  /** The duration of its longest test, in milliseconds. */
  readonly longest: number
  /** The first test that failed, and why. */
  readonly failure: string | undefined
}

export interface Ended {
  readonly passed: boolean
  /** Outside the tests. */
  readonly errors: ReadonlyArray<string>
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 240)

const failureOf = (module: TestModule): string | undefined => {
  const { children } = module
  const tests = [...children.allTests("failed")].map((test) => [test.fullName, test.result().errors] as const)
  const hooks = [...children.allSuites()].map((suite) => [suite.fullName, suite.errors()] as const)
  const found = [...tests, ...hooks, ["", module.errors()] as const].find(([, errors]) => errors?.length)
  return found && oneLine(`${found[0]}: ${found[1]![0]!.message}`)
}

export default class MutantReporter implements Reporter {
  #vitest!: Vitest
  readonly #begun = new Map<string, number>()

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#begun.set(moduleId, Date.now())
  }

  onTestModuleEnd(module: TestModule): void {
    const { config } = this.#vitest
    const durations = [...module.children.allTests()].map((test) => test.diagnostic()?.duration ?? 0)
    const [file, failure, end] = [relative(config.root, module.moduleId), failureOf(module), Date.now()]
    const begin = this.#begun.get(module.moduleId) ?? end
    this.#write({ file, begin, end, longest: Math.max(0, ...durations), failure })
    // `--bail` itself counts tests only, not failed hooks and files that cannot be loaded.
    if (failure !== undefined && config.bail) this.#vitest.cancelCurrentRun("test-failure")
  }

  onTestRunEnd(_: unknown, errors: ReadonlyArray<{ readonly message: string }>, reason: string): void {
    this.#write({ passed: reason === "passed", errors: errors.map(({ message }) => oneLine(message)) })
  }

  #write(line: TestedFile | Ended): void {
    appendFileSync(process.env.MUTANTS_REPORT!, `${JSON.stringify(line)}\n`)
  }
}
