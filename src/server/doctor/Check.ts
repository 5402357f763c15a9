/** The findings of `doctor`, a line each. */
import { Effect } from "effect"
import { exitCodes, Failure } from "../../cli/Failure.ts"
import { print } from "../../cli/Output.ts"

export interface Check {
  readonly what: string
  /** `warning`: it works, within limits that the detail names. */
  readonly result: "yes" | "no" | "unknown" | "warning"
  readonly detail?: string
}

export const check = (what: string, result: Check["result"], detail?: string): Check => ({
  ...{ what, result },
  ...(detail !== undefined && { detail })
})

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, 200)

/** Prints the checks, and fails with the help if one of them is `no` or `unknown`. */
export const report = (checks: ReadonlyArray<Check>, title: string, help: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const width = 2 + Math.max(...checks.map(({ what }) => what.length))
    yield* Effect.forEach(
      checks,
      ({ detail, result, what }) =>
        print(`${what.padEnd(width)}${detail === undefined ? result : `${result.padEnd(9)}${detail}`}`),
      { discard: true }
    )
    if (checks.every(({ result }) => result === "yes" || result === "warning")) return
    return yield* new Failure({ exit: exitCodes.refused, title, detail: help })
  })

/** The checks of one service, in their order. The first one that fails makes the following ones unknown. */
export interface Examined {
  readonly checks: ReadonlyArray<Check>
  /** Advice if one of them failed. */
  readonly help?: string
}

export const passed = (names: ReadonlyArray<string>, found: ReadonlyArray<string | undefined>): Examined => ({
  checks: names.map((what, n) => check(what, "yes", found[n]))
})

export const failedAt = (
  names: ReadonlyArray<string>,
  failed: number,
  detail: string,
  help: string,
  found: ReadonlyArray<string | undefined> = []
): Examined => ({
  checks: names.map((what, n) =>
    n < failed ? check(what, "yes", found[n]) : n === failed ? check(what, "no", detail) : check(what, "unknown")
  ),
  help
})
