/** How objects of every kind are compared, and what the comparisons collect. */
import { isDeepStrictEqual } from "node:util"
import { Result } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import type { Fields } from "./SecretReferences.ts"
import type { SecretPlan } from "./Secrets.ts"
import type { Change, PlanOptions, Step } from "./Steps.ts"

export interface Planning {
  readonly options: PlanOptions
  /** Of entries that match nothing or several. */
  readonly faults: Array<Fault>
  /** What is left alone. */
  readonly left: Array<string>
  readonly orFault: <A>(found: Result.Result<A | undefined, Fault>) => A | undefined
  /** For objects that are not in the files: deleted, or left alone. */
  readonly others: <A>(all: ReadonlyArray<A>, nameOf: (one: A) => string, what: string) => ReadonlyArray<Step<A>>
}

export const planning = (options: PlanOptions): Planning => {
  const faults: Array<Fault> = []
  const left: Array<string> = []
  return {
    ...{ options, faults, left },
    orFault: (found) => {
      if (Result.isFailure(found)) faults.push(found.failure)
      return Result.getOrUndefined(found)
    },
    others: (all, nameOf, what) => {
      if (!options.prune) left.push(...all.map((one) => `${what} ${nameOf(one)}`))
      return options.prune ? all.map((one) => removal(nameOf(one), one)) : []
    }
  }
}

/** `enabled` is compared only if a file has it: a webhook that was switched off in an emergency stays off. */
export const compared = (fields: ReadonlyArray<string>, wanted: Fields) =>
  wanted.enabled === undefined ? fields : [...fields, "enabled"]

export const changesOf = (before: Fields, wanted: Fields, fields: ReadonlyArray<string>): ReadonlyArray<Change> =>
  fields
    .filter((field) => !isDeepStrictEqual(before[field], wanted[field]))
    .map((field) => ({
      field,
      ...(before[field] !== undefined && { from: before[field] }),
      ...(wanted[field] !== undefined && { to: wanted[field] })
    }))

/** `null` gives a field its default. */
const editOf = (changes: ReadonlyArray<Change>): Fields =>
  Object.fromEntries(changes.map(({ field, to = null }) => [field, to]))

export const step = <Before>(
  name: string,
  before: Before | undefined,
  changes: ReadonlyArray<Change>,
  draft: Fields,
  secrets: ReadonlyArray<SecretPlan>
): Step<Before> => {
  const all = [...changes, ...secrets.flatMap(({ changes }) => changes)]
  const action = before === undefined ? "create" : all.length > 0 ? "change" : "keep"
  return {
    action,
    name,
    before,
    changes: all,
    notes: secrets.flatMap(({ notes }) => notes),
    payload: Object.assign(
      {},
      before === undefined ? draft : editOf(changes),
      ...secrets.map(({ payload }) => payload)
    ) as Fields
  }
}

/** What has no step. */
export const unplanned = <A extends { readonly id: string }>(all: ReadonlyArray<A>, steps: ReadonlyArray<Step<A>>) =>
  all.filter(({ id }) => !steps.some(({ before }) => before?.id === id))

const removal = <Before>(name: string, before: Before): Step<Before> => ({
  action: "delete",
  name,
  before,
  changes: [],
  notes: [],
  payload: {}
})
