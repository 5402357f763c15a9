import { Effect, FiberSet, type Scope } from "effect"

/** Why a database that can be reached executes no writes, by its SQLSTATE (PostgreSQL's manual, appendix A). */
const reasons: Readonly<Record<string, string>> = {
  "25006": "it is read-only",
  "53100": "its disk is full",
  "53200": "it has no memory left",
  "58030": "its disk fails"
}

/** It is over when nothing was refused for so long, in milliseconds: on a full disk some writes still find room. */
const calm = 3_000

/** Reports that the database executes no writes: one line in the log when it begins, and one when it is over. */
export interface Refusals {
  /** A statement has ended, with the driver's error if it failed. */
  readonly ended: (statement: string, error: unknown) => void
}

export const make: Effect.Effect<Refusals, never, Scope.Scope> = Effect.gen(function* () {
  const log = yield* FiberSet.makeRuntime<never>()
  /** Since it began: the statements that were refused, one of which works again when it is over. */
  let refused: Set<string> | undefined
  let refusedAt = 0

  const succeeded = (statement: string): void => {
    if (refused?.has(statement) !== true || performance.now() - refusedAt < calm) return
    refused = undefined
    log(Effect.logInfo("The database executes writes again"))
  }
  const failed = (statement: string, error: object): void => {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    const reason = typeof code === "string" ? reasons[code] : undefined
    if (reason === undefined) return
    refusedAt = performance.now()
    if (refused === undefined) {
      refused = new Set()
      // The messages of these codes name files and sizes, and no values.
      log(Effect.logError(`The database executes no writes, because ${reason} (${code}: ${message})`))
    }
    refused.add(statement)
  }
  return {
    ended: (statement, error) => {
      if (typeof error === "object" && error !== null) failed(statement, error)
      else succeeded(statement)
    }
  }
})
