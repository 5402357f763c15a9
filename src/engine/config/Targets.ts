/** Objects that others of a configuration refer to, by name or ID. */
import { Result } from "effect"

export interface Target {
  /** Absent: it is yet to be created, or has faults. */
  readonly id: string | undefined
  /** Its ID in the configuration, perhaps of another server. */
  readonly fileId?: string | undefined
  /** For people. */
  readonly name: string
  /** The text that refers to it, besides its ID. */
  readonly text: string | undefined
  readonly isDeleted: boolean
}

type Names = Pick<Target, "name" | "text">

interface Identified {
  readonly id?: string | undefined
}

export const make = <E extends Identified, S extends { readonly id: string }>(
  namesOf: (one: E | S) => Names,
  /** Objects that the configuration does not have are deleted. */
  prune: boolean
) => {
  const all = new Map<E | S, Target>()
  const add = (one: E | S, target: Pick<Target, "id"> & Partial<Target>) =>
    void all.set(one, { ...namesOf(one), isDeleted: false, ...target })
  return {
    add,
    matched: (stored: ReadonlyArray<S>, entries: ReadonlyArray<E> = [], matches: ReadonlyArray<S | undefined> = []) => {
      const isLeft = (one: S) => !matches.includes(one)
      for (const one of stored.filter(isLeft)) add(one, { id: one.id, isDeleted: prune })
      for (const [at, one] of entries.entries()) add(one, { id: matches[at]?.id, fileId: one.id })
    },
    nameOf: (id: unknown): string | undefined => [...all.values()].find((target) => target.id === id)?.name,
    /** By its ID, else by its text. A success without an ID: it has faults of its own. */
    find: (text: string): Result.Result<string | undefined, string> => {
      const targets = [...all.values()].filter(({ isDeleted }) => !isDeleted)
      const identified = targets.find(({ id }) => id === text) ?? targets.find(({ fileId }) => fileId === text)
      const [first, ...others] = identified ? [identified] : targets.filter((target) => target.text === text)
      if (first === undefined) return Result.fail(`does not exist: ${JSON.stringify(text)}`)
      if (others.length === 0) return Result.succeed(first.id)
      const ids = [first, ...others].map(({ id }) => id ?? "(new)").join(", ")
      return Result.fail(`matches several; use the ID of one: ${ids}`)
    }
  }
}

export type Targets<E extends Identified, S extends { readonly id: string }> = ReturnType<typeof make<E, S>>
