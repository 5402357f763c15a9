import { Effect, FiberSet, type Scope } from "effect"

/** Why a reachable database refuses writes, by SQLSTATE (PostgreSQL's manual, appendix A). */
const reasons: Readonly<Record<string, string>> = {
  "25006": "it is read-only",
  "53100": "its disk is full",
  "53200": "it has no memory left",
  "58030": "its disk is failing"
}

/**
 * Writes count as working again after this many milliseconds without a refusal: on a full disk, some still find room.
 */
const calm = 3_000

/** Reports that the database refuses writes: logs one line at the beginning, and one at the end. */
interface Refusals {
  /** A statement has ended, with the driver's error if it failed. */
  readonly ended: (statement: string, error: unknown) => void
}

export const make: Effect.Effect<Refusals, never, Scope.Scope> = Effect.gen(function* () {
  const log = yield* FiberSet.makeRuntime<never>()
  /** Statements refused since then. The problem is over when one of them works again. */
  let refused: Set<string> | undefined
  let refusedAt = 0

  const succeeded = (statement: string): void => {
    if (refused?.has(statement) !== true || performance.now() - refusedAt < calm) return
    refused = undefined
    log(Effect.logInfo("The database accepts writes again"))
  }
  const failed = (statement: string, error: object): void => {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    const reason = typeof code === "string" ? reasons[code] : undefined
    if (reason === undefined) return
    refusedAt = performance.now()
    if (refused === undefined) {
      refused = new Set()
      // The messages for these codes name files and sizes, but no values.
      log(Effect.logError(`The database refuses writes, because ${reason} (${code}: ${message})`))
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
