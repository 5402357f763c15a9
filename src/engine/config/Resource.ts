/** Makes a list of objects what a configuration asks for. The kinds of objects differ only in a `Resource`. */
import { isDeepStrictEqual } from "node:util"
import { Effect, Option, Result } from "effect"
import type { Change, Step } from "../../domain/Configuration.ts"
import type { EditConflict, Fault, Invalid, NotFound, Unavailable } from "../../domain/Errors.ts"

export type Fields = Readonly<Record<string, unknown>>

/** The errors of an edit or a creation. */
export type Refusal = EditConflict | Invalid | NotFound | Unavailable

export interface Options {
  /** Delete what the configuration does not have. */
  readonly prune: boolean
  /** Set all secrets again, also those that look the same. */
  readonly resetSecrets: boolean
  /** Nothing stays: what a secret has to be does not matter, if it is not known. */
  readonly dryRun: boolean
}

/** The given fields, without these. */
export const omitted = (fields: Fields, ...names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => value !== undefined && !names.includes(name)))

/** A kind of object. `E`: an entry of the configuration. `S`: what is stored. */
export interface Resource<E, S extends Fields> {
  readonly kind: Step["kind"]
  /** For people, such as `destination of nightly:`. */
  readonly what?: string
  readonly most?: number
  /** The field that names it, as a JSON Pointer; empty: none. */
  readonly key: string
  readonly decode: (entry: unknown) => Result.Result<E, ReadonlyArray<Fault>>
  readonly stored: Effect.Effect<ReadonlyArray<S>, NotFound | Unavailable>
  /** The stored object that each entry means, or why that is unclear. */
  readonly match: (entries: ReadonlyArray<E>, stored: ReadonlyArray<S>) => ReadonlyArray<Matched<S>>
  /** Entries with the same one mean the same object. */
  readonly identity: (entry: E) => string
  readonly nameOf: (entry: E) => string
  readonly nameOfStored: (stored: S) => string
  /** The fields to compare, besides `enabled`. */
  readonly fields: ReadonlyArray<string>
  readonly shown?: (stored: S) => Fields
  /** The fields of a draft, and with the defaults of the server. */
  readonly wanted: (
    entry: E,
    before: S | undefined,
    fault: (path: string, detail: string) => void
  ) => { readonly draft: Fields; readonly shown: Fields }
  /** The changes to its secrets, as people see them, and the fields that are stored. */
  readonly secrets?: (
    entry: E,
    before: S | undefined,
    isMoved: boolean
  ) => { readonly changes: ReadonlyArray<Change>; readonly payload: Fields }
  readonly note?: (entry: E, before: S | undefined, stored: ReadonlyArray<S>, isChanged: boolean) => string | undefined
  /** As people see it: names in place of IDs. */
  readonly display?: (change: Change, isNew: boolean) => Change
  /** Returns its ID, if it has one. */
  readonly create: (draft: Fields) => Effect.Effect<string | undefined, Refusal>
  readonly created?: (entry: E, id: string) => void
  readonly edit: (before: S, change: Fields) => Effect.Effect<unknown, Refusal>
  /** Absent: it is deleted after the commit. */
  readonly remove?: (before: S) => Effect.Effect<void, Refusal>
  /** The steps below its own. Without an ID, it has faults itself. */
  readonly inside?: (entry: E, id: string | undefined, pointer: string) => Effect.Effect<ReadonlyArray<Step>, Refusal>
  /** Whether it is done before others; absent: any order will do. */
  readonly isFirst?: (entry: E) => boolean
}

export type Matched<S> = Result.Result<S | undefined, string>

/** The results of a configuration so far. */
export interface Run {
  readonly options: Options
  readonly faults: Array<Fault>
  /** Objects that the configuration does not have, and that are left alone. */
  readonly left: Array<string>
  /** The objects to be changed or deleted, as they were: another plan has another version. */
  readonly seen: Array<unknown>
}

/** A list after its steps. */
export interface Listed<S> {
  readonly steps: ReadonlyArray<Step>
  readonly deleted: ReadonlyArray<S>
}

const versionOf = ({ updated_at, version }: Fields) => version ?? updated_at

/** As JSON has it: without prototypes. */
const plain = (value: unknown): unknown => (value === undefined ? value : JSON.parse(JSON.stringify(value)))

const changesOf = (before: Fields, after: Fields, fields: ReadonlyArray<string>): ReadonlyArray<Change> =>
  fields
    .filter((field) => !isDeepStrictEqual(plain(before[field]), plain(after[field])))
    .map((field) => ({
      field,
      ...(before[field] !== undefined && { from: before[field] }),
      ...(after[field] !== undefined && { to: after[field] })
    }))

/** `pointer`: the list's place. */
export const listed = <E, S extends Fields>(
  resource: Resource<E, S>,
  pointer: string,
  given: ReadonlyArray<unknown> | undefined,
  run: Run,
  /** Stored objects that are neither deleted nor left: others need them. */
  isNeeded: (stored: S) => boolean = () => false
): Effect.Effect<Listed<S>, Refusal> =>
  Effect.gen(function* () {
    if (given === undefined) return { steps: [], deleted: [] }
    const { faults, options } = run
    const { display = (change) => change, kind, most, nameOf, nameOfStored, what = kind.replace("_", " ") } = resource
    const fault = (at: number, path: string, detail: string) => {
      faults.push({ pointer: `${pointer}/${at}${path}`, detail })
      return undefined
    }
    const decoded = given.map((entry, at) =>
      Result.getOrElse(resource.decode(entry), (found) => found.map((one) => fault(at, one.pointer, one.detail))[0])
    )
    const entries = decoded.filter((entry) => entry !== undefined)
    const places = decoded.flatMap((entry, at) => (entry === undefined ? [] : [at]))
    const stored = yield* resource.stored
    const found = resource.match(entries, stored)
    const matches = found.map(Result.getOrUndefined)
    const isSound = entries.map((entry, at) => {
      const [place, match] = [places[at]!, found[at]!]
      const isSame = (other: E, index: number) =>
        matches[at] === undefined
          ? resource.identity(other) === resource.identity(entry)
          : matches[index] === matches[at] || resource.identity(other) === resource.identity(entry)
      if (Result.isFailure(match)) fault(place, resource.key, match.failure)
      else if (entries.slice(0, at).some(isSame)) fault(place, resource.key, "is listed twice")
      else return true
      return false
    })

    const rest = stored.filter((one) => !matches.includes(one) && !isNeeded(one))
    const deleted = options.prune ? rest : []
    if (!options.prune) run.left.push(...rest.map((one) => `${what} ${nameOfStored(one)}`))
    // First: they make room, and nothing is lost, as all is one commit.
    for (const one of deleted) yield* resource.remove?.(one) ?? Effect.void

    const room = (most ?? Number.POSITIVE_INFINITY) - (stored.length - deleted.length)
    const isNew = entries.flatMap((_, at) => (isSound[at] && matches[at] === undefined ? [places[at]!] : []))
    const hasRoom = isNew.length <= room
    if (!hasRoom) {
      const advice = options.prune || rest.length === 0 ? "" : `; ${rest.length} others stay: delete them, or prune`
      fault(isNew[Math.max(0, room)]!, "", `exceeds the limit of ${most} ${kind.replace(/.*_/, "")}s${advice}`)
    }

    const stepOf = Effect.fnUntraced(function* (entry: E, at: number) {
      const [before, place] = [matches[at], places[at]!]
      const own = `${pointer}/${place}`
      const { draft, shown } = resource.wanted(entry, before, (...found) => fault(place, ...found))
      const fields = shown.enabled === undefined ? resource.fields : [...resource.fields, "enabled"]
      const changes = changesOf(before === undefined ? {} : (resource.shown?.(before) ?? before), shown, fields)
      const isMoved = before !== undefined && changes.some(({ field }) => field === "url")
      const secrets = resource.secrets?.(entry, before, isMoved)
      const all = [...changes, ...(secrets?.changes ?? [])]
      const action = before === undefined ? "create" : all.length > 0 ? "change" : "unchanged"
      let id = before?.id as string | undefined
      if (isSound[at] && before === undefined && hasRoom) {
        id = yield* tried(run, own, resource.create(omitted({ ...draft, ...secrets?.payload })))
        if (id !== undefined) resource.created?.(entry, id)
      }
      if (isSound[at] && before !== undefined && action === "change") {
        run.seen.push(versionOf(before))
        const edit = Object.fromEntries(changes.map(({ field, to = null }) => [field, to]))
        yield* tried(run, own, resource.edit(before, omitted({ ...edit, ...secrets?.payload })))
      }
      const below = yield* resource.inside?.(entry, id, own) ?? Effect.succeed([])
      const note = resource.note?.(entry, before, stored, action === "change")
      const step: Step = {
        ...{ kind, name: nameOf(entry), action, pointer: own },
        changes: all.map((change) => display(change, before === undefined)),
        notes: note === undefined ? [] : [note]
      }
      return [step, ...below]
    })
    const steps = new Map<number, ReadonlyArray<Step>>()
    const { isFirst = () => true } = resource
    for (const first of [true, false]) {
      for (const [at, entry] of entries.entries()) {
        if (isFirst(entry) === first) steps.set(at, yield* stepOf(entry, at))
      }
    }
    const removals = deleted.map((one): Step => {
      run.seen.push(versionOf(one))
      return { kind, name: nameOfStored(one), action: "delete", changes: [], notes: [] }
    })
    return { steps: [...entries.flatMap((_, at) => steps.get(at)!), ...removals], deleted }
  })

/** Collects its faults, so that the rest is checked, too. What it did until then is undone with all else. */
const tried = <A>(run: Run, pointer: string, effect: Effect.Effect<A, Refusal>) =>
  effect.pipe(
    Effect.asSome,
    Effect.catchTag("Invalid", ({ faults }) => {
      run.faults.push(...faults.map((fault) => ({ ...fault, pointer: pointer + fault.pointer })))
      return Effect.succeedNone
    }),
    Effect.map(Option.getOrUndefined)
  )

interface Identified {
  readonly id?: string | undefined
}

/**
 * By ID, else by name. An export of another server has IDs that this one does not know, of objects that share a name. The
 * first entry with such an ID is then the oldest of those that share the name here, the second one the next, and so on.
 */
export const byName =
  <E extends Identified, S extends { readonly id: string }>(isNamed: (entry: E, other: E | S) => boolean) =>
  (entries: ReadonlyArray<E>, stored: ReadonlyArray<S>): ReadonlyArray<Matched<S>> => {
    const oldestFirst = stored.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const isUnknown = ({ id }: E) => id !== undefined && stored.every((one) => one.id !== id)
    return entries.map((entry) => {
      const alike = oldestFirst.filter((one) => isNamed(entry, one))
      if (entry.id === undefined) {
        const ids = alike.map(({ id }) => id).join(", ")
        return alike.length > 1
          ? Result.fail(`matches several; add the \`id\` of one: ${ids}`)
          : Result.succeed(alike[0])
      }
      const found = stored.find(({ id }) => id === entry.id)
      const place = entries.filter((one) => isUnknown(one) && isNamed(entry, one)).indexOf(entry)
      const unclaimed = alike.filter((one) => entries.every(({ id }) => id !== one.id))
      return Result.succeed(found ?? unclaimed[place])
    })
  }
