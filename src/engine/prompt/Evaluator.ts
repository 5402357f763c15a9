import { existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { Clock, Context, Effect, Layer } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { Budget } from "../../domain/evaluation/Budget.ts"
import * as Json from "../../domain/Json.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { remembered } from "../../runtime/Remembered.ts"
import * as ThreadPool from "../../runtime/ThreadPool.ts"
import { busy, TooSlow } from "../../runtime/TimeLimit.ts"
import { Origin, type OriginValues } from "../access/Audit.ts"
import * as EvaluationTasks from "./EvaluationTasks.ts"

/** Work that is tried where requests are answered: a millisecond at most. */
export const quickWork = 20_000

/** The CPU time in milliseconds that a webhook or an API key may use at once, and how much of it comes back each millisecond. */
const allowance = 2_000
const regained = 0.25

/** How many allowances are remembered: of those who used some of it last. */
const capacity = 2_000

export interface Question {
  readonly name: EvaluationTasks.TaskName
  /** As JSON, whose numbers would not arrive otherwise. */
  readonly input: string
}

export interface Answer {
  /** `TooSlow`: it takes too much CPU time, and would again. `Unavailable`: the machine is too busy. */
  readonly result: "done" | "TooSlow" | "Unavailable" | "defect"
  readonly output?: unknown
  /** The CPU time that it took. */
  readonly milliseconds: number
}

/**
 * Evaluates what people wrote, on input of callers: filters, schemas and templates. What is quick is done at once. Everything
 * else runs on other threads, so that it delays no other request, within the CPU time of its webhook or API key.
 */
export class Evaluator extends Context.Service<
  Evaluator,
  {
    /**
     * `key`: the webhook or the destination whose CPU time it takes; default: who asks. `TooSlow`: it takes too much time or
     * memory, and would again. One that exceeds its budget of work says so in its own output.
     */
    readonly evaluate: <Name extends EvaluationTasks.TaskName>(
      name: Name,
      input: EvaluationTasks.InputOf<Name>,
      key?: string
    ) => Effect.Effect<EvaluationTasks.OutputOf<Name>, TooSlow | Unavailable>
    /** The same at once, within a budget for work that takes a millisecond. `undefined`: it takes more. */
    readonly evaluateNow: <Name extends EvaluationTasks.TaskName>(
      name: Name,
      input: EvaluationTasks.InputOf<Name>,
      budget: Budget
    ) => EvaluationTasks.OutputOf<Name> | undefined
    /** The refusal of whatever is not quick, if the CPU time of this key is used up for now. */
    readonly refusalOf: (key: string) => Unavailable | undefined
    /** Counts other work for this key, in milliseconds of CPU time. */
    readonly charge: (key: string, milliseconds: number) => void
  }
>()("webhook-trigger/Evaluator") {
  static readonly layer: Layer.Layer<Evaluator> = Layer.effect(
    Evaluator,
    Effect.gen(function* () {
      const tasks = EvaluationTasks.make()
      const clock = yield* Clock.Clock
      const allowances = new Allowances(() => clock.currentTimeMillisUnsafe())
      const onThread = yield* ThreadPool.make<Question, Answer>({
        program,
        threads: Math.min(4, Math.max(1, availableParallelism() - 1)),
        longestWait: 10_000,
        longest: 30_000,
        maxMemory: 256,
        mayStart: (key) => allowances.isLeft(key),
        onEnd: (key, answer) => allowances.take(key, answer?.milliseconds ?? allowance)
      })

      const evaluateNow = <Name extends EvaluationTasks.TaskName>(
        name: Name,
        input: EvaluationTasks.InputOf<Name>,
        budget: Budget
      ): EvaluationTasks.OutputOf<Name> | undefined => {
        const { isQuick, run } = tasks[name] as {
          readonly isQuick: (input: unknown) => boolean
          readonly run: (input: unknown, budget: Budget) => EvaluationTasks.OutputOf<Name>
        }
        if (!isQuick(input)) return undefined
        try {
          const output = run(input, budget)
          return budget.isExceeded ? undefined : output
        } catch (error) {
          // Calls nested too deep: a thread says so.
          if (error instanceof RangeError) return undefined
          throw error
        }
      }

      const evaluateThere = <Name extends EvaluationTasks.TaskName>(
        key: string,
        name: Name,
        input: EvaluationTasks.InputOf<Name>
      ): Effect.Effect<EvaluationTasks.OutputOf<Name>, TooSlow | Unavailable> =>
        Effect.matchEffect(onThread(key, { name, input: Json.stringify(input) }), {
          onFailure: (failure): Effect.Effect<never, TooSlow | Unavailable> => {
            if (failure._tag === "ThreadLost") return Effect.fail(new TooSlow())
            return Effect.fail(failure.reason === "late" ? busy : usedUp)
          },
          onSuccess: ({ output, result }): Effect.Effect<EvaluationTasks.OutputOf<Name>, TooSlow | Unavailable> => {
            switch (result) {
              case "done":
                return Effect.succeed(output as EvaluationTasks.OutputOf<Name>)
              case "TooSlow":
                return Effect.fail(new TooSlow())
              case "Unavailable":
                return Effect.fail(busy)
              case "defect":
                return Effect.die(output)
            }
          }
        })

      const refusalOf = (key: string) => (allowances.isLeft(key) ? undefined : usedUp)

      return Evaluator.of({
        refusalOf,
        charge: (key, milliseconds) => allowances.take(key, milliseconds),
        evaluateNow,
        evaluate: (name, input, key) =>
          Effect.suspend(() => {
            const output = evaluateNow(name, input, new Budget(quickWork))
            if (output !== undefined) return Effect.succeed(output)
            const evaluated = Effect.flatMap(
              key === undefined ? Effect.map(Origin, keyOf) : Effect.succeed(key),
              (key) =>
                refusalOf(key) ??
                Effect.flatMap(OnThread, (tell) => {
                  tell()
                  return evaluateThere(key, name, input)
                })
            )
            return remembered(() => `${name} ${Json.stringify(input)}`, evaluated)
          })
      })
    })
  )
}

/** Told when an evaluation goes to another thread, so that nobody waits for it who need not. */
export class OnThread extends Context.Reference("webhook-trigger/OnThread", {
  defaultValue: (): (() => void) => () => {}
}) {}

/** Made by the build: relative to the built program, to the library, to the tests' server, and to the sources. */
const program = ["./", "../", "../../", "../../dist/", "../../../dist/"]
  .map((path) => new URL(`${path}evaluation.js`, import.meta.url))
  .find((url) => existsSync(url))!

const keyOf = ({ actor, key_id, person_id, session_id }: OriginValues): string =>
  key_id ?? person_id ?? session_id ?? actor

const usedUp = new Unavailable({
  what: "server",
  detail:
    "The filter, schema or templates used up their CPU time for now. Try again in a moment, or make them simpler: fewer loops, and regular expressions that do not backtrack."
})

class Allowances {
  readonly #used = new RecentMap<string, { readonly milliseconds: number; readonly at: number }>(capacity)
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  #usedBy(key: string): number {
    const used = this.#used.get(key)
    return used === undefined ? 0 : Math.max(0, used.milliseconds - regained * (this.#now() - used.at))
  }

  isLeft(key: string): boolean {
    return this.#usedBy(key) < allowance
  }

  take(key: string, milliseconds: number): void {
    this.#used.set(key, { milliseconds: this.#usedBy(key) + milliseconds, at: this.#now() })
  }
}
