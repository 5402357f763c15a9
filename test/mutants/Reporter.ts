/** Vitest's reporter in runs on mutants: one line of JSON for each test file, in the file `MUTANTS_REPORT`. */
import { appendFileSync } from "node:fs"
import { relative } from "node:path"
import type { Reporter, TestModule, Vitest } from "vitest/node"

/** A test file that has run. */
export interface TestedFile {
  readonly file: string
  /** When its worker began to load it and when its last hook ended, in milliseconds since 1970. */
  readonly begin: number
  readonly end: number
  /** Of its tests, in milliseconds. */
  readonly longest: number
  readonly failure: string | undefined
}

/** The last line. */
export interface Ended {
  readonly passed: boolean
  readonly errors: ReadonlyArray<string>
}

interface WithMessage {
  readonly message: string
}

/** Begins with the name of the test. */
const failureOf = (module: TestModule): string | undefined => {
  const said = (name: string, errors: ReadonlyArray<WithMessage>) =>
    errors.map(({ message }) => `${name}: ${message.split("\n")[0]}`)
  const tests = [...module.children.allTests("failed")]
  const suites = [...module.children.allSuites()]
  return [
    ...tests.flatMap((test) => said(test.fullName, test.result().errors ?? [])),
    ...suites.flatMap((suite) => said(suite.fullName, suite.errors())),
    ...said("the file", module.errors())
  ][0]
}

export default class MutantReporter implements Reporter {
  #vitest: Vitest | undefined
  readonly #begun = new Map<string, number>()

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#begun.set(moduleId, Date.now())
  }

  onTestModuleEnd(module: TestModule): void {
    const durations = [...module.children.allTests()].map((test) => test.diagnostic()?.duration ?? 0)
    const end = Date.now()
    const tested: TestedFile = {
      file: relative(this.#vitest!.config.root, module.moduleId),
      begin: this.#begun.get(module.moduleId) ?? end,
      end,
      longest: Math.max(0, ...durations),
      failure: failureOf(module)
    }
    this.#write(tested)
    // `--bail` counts failed tests only, not files that cannot be loaded and hooks.
    if (tested.failure !== undefined && this.#vitest?.config.bail) this.#vitest.cancelCurrentRun("test-failure")
  }

  onTestRunEnd(_: ReadonlyArray<TestModule>, errors: ReadonlyArray<WithMessage>, reason: string): void {
    const ended: Ended = { passed: reason === "passed", errors: errors.map(({ message }) => message.split("\n")[0]!) }
    this.#write(ended)
  }

  #write(line: TestedFile | Ended): void {
    appendFileSync(process.env.MUTANTS_REPORT!, `${JSON.stringify(line)}\n`)
  }
}
