/** The server's limits: what exceeds them is refused before the first change, and no step does on the way. */
import { maxRules } from "../../domain/alert/AlertRule.ts"
import { maxChains, maxDestinations } from "../../domain/delivery/Destination.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { DestinationStep, RuleStep, Step } from "./Steps.ts"

/** Of all objects that have the same limit. */
interface Limit {
  readonly key: string
  readonly max: number
  /** The field of the fault; empty: the whole entry. */
  readonly field: string
  readonly detail: string
}

const limit = (key: string, max: number): Limit => ({
  ...{ key, max, field: "" },
  detail: `exceeds the limit of ${max} ${key}`
})

const ofRules = limit("rules", maxRules)
const ofDestinations = limit("destinations", maxDestinations)
const ofChains = limit("chains", maxChains)

export const limitsOfRule = (): ReadonlyArray<Limit> => [ofRules]

/** The narrowest first. */
export const limitsOfDestination = ({
  kind,
  target
}: {
  readonly kind?: unknown
  readonly target?: unknown
}): ReadonlyArray<Limit> => [
  ...(kind === "chain"
    ? [
        {
          ...{ key: `chains to ${target}`, max: 1, field: "target" },
          detail: "is already started by another destination of this webhook"
        },
        ofChains
      ]
    : []),
  ofDestinations
]

/** A step, with the limits of its object before and after it. */
interface Limited<S> {
  readonly step: S
  readonly before: ReadonlyArray<Limit>
  readonly after: ReadonlyArray<Limit>
}

export const limitedRule = (step: RuleStep): Limited<RuleStep> => ({
  step,
  before: step.before === undefined ? [] : limitsOfRule(),
  after: isDeletion(step) ? [] : limitsOfRule()
})

export const limitedDestination = (step: DestinationStep): Limited<DestinationStep> => ({
  step,
  before: step.before === undefined ? [] : limitsOfDestination(step.before),
  after: step.wanted === undefined ? [] : limitsOfDestination(step.wanted.shown)
})

export const isDeletion = ({ action }: Step<unknown>): boolean => action === "delete"

const has = (limits: ReadonlyArray<Limit>, key: string): boolean => limits.some((limit) => limit.key === key)

/** What counts only after the step. */
const gained = ({ after, before }: Limited<unknown>) => after.filter(({ key }) => !has(before, key))

/** How many objects have each limit. */
const counter = () => {
  const counts = new Map<string, number>()
  const count = (key: string): number => counts.get(key) ?? 0
  const add = (limits: ReadonlyArray<Limit>, by = 1) =>
    limits.forEach(({ key }) => void counts.set(key, count(key) + by))
  return { add, count }
}

/**
 * The steps, and then the deletions, so that a failure loses nothing. A deletion is among the steps only if a limit
 * leaves no room for a step before it.
 */
export const withDeletionsLast = <S extends Step<unknown>>(
  all: ReadonlyArray<Limited<S>>
): readonly [steps: ReadonlyArray<S>, deletions: ReadonlyArray<S>] => {
  const { add, count } = counter()
  const ordered: Array<S> = []
  const deletions = all.filter(({ step }) => isDeletion(step))
  const take = ({ after, before, step }: Limited<S>) => {
    add(before, -1)
    add(after)
    ordered.push(step)
  }
  for (const { before } of all) add(before)
  for (const one of all.filter(({ step }) => !isDeletion(step))) {
    for (const { key, max } of gained(one)) {
      while (count(key) >= max) {
        const at = deletions.findIndex(({ before }) => has(before, key))
        if (at < 0) break
        deletions.splice(at, 1).forEach(take)
      }
    }
    take(one)
  }
  return [ordered, deletions.map(({ step }) => step)]
}

/** A fault for each limit that would be exceeded at the end. `others`: the limits of what no step is about. */
export const exceeded = (
  all: ReadonlyArray<Limited<unknown>>,
  others: ReadonlyArray<ReadonlyArray<Limit>>,
  fault: (at: number, field: string, detail: string) => Fault
): ReadonlyArray<Fault> => {
  const { add, count } = counter()
  for (const limits of others) add(limits)
  for (const { after, before } of all) add(after.filter(({ key }) => has(before, key)))
  return all.flatMap((one, at) =>
    gained(one).flatMap((limit) => {
      add([limit])
      if (count(limit.key) !== limit.max + 1) return []
      const left = others.filter((limits) => has(limits, limit.key)).length
      const advice = left > 0 ? `; ${left} on the server are in no file: delete them, or use --prune` : ""
      return [fault(at, limit.field, `${limit.detail}${advice}`)]
    })
  )
}
