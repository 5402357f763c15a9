/**
 * Checks the words of a command line, and arranges them for the library. The library takes an unknown option for an
 * argument and the word after a switch for its value, and reports only the first fault.
 */
import { AutoCorrect } from "@effect/cli"
import { Array as Arr, Order } from "effect"
import { CliConfig } from "effect/cli"
import type { Parameter, Parameters } from "./Parameters.ts"

/** `-y`, `--name` and `--name=value`, but not `-1` or a text such as `- a list`. */
export const isOption = (word: string): boolean => /^--?[a-z][\w-]*(=|$)/i.test(word)

const byDistance = Order.mapInput(Order.Number, ({ distance }: { readonly distance: number }) => distance)

/** The most similar name: a letter in three may differ, or the end may be missing. */
const nearest = (word: string, names: ReadonlyArray<string>): string | undefined => {
  const distances = names.map((name) => ({
    name,
    distance: name.startsWith(word) ? 0 : AutoCorrect.levensteinDistance(word, name, CliConfig.defaultConfig)
  }))
  const near = distances.filter(({ distance }) => distance <= word.length / 3)
  return Arr.isArrayNonEmpty(near) ? Arr.min(near, byDistance).name : undefined
}

/** As in `; did you mean list?`, or nothing. */
export const didYouMean = (word: string, names: ReadonlyArray<string>): string => {
  const name = nearest(word, names)
  return name === undefined ? "" : `; did you mean ${name}?`
}

export const unknownOption = (name: string, options: ReadonlyArray<Parameter>): string =>
  `unknown option ${name}${didYouMean(name, namesOf(options))}`

const namesOf = (options: ReadonlyArray<Parameter>) => options.map(({ name }) => name)

interface Given {
  /** Each option with its value. A switch has none. */
  readonly options: Array<{ readonly option: Parameter; readonly value?: string }>
  readonly args: Array<string>
  readonly unknown: Array<string>
  readonly faults: Array<string>
}

/** Splits words into options and arguments. `--name value` and `--name=value` mean the same. */
const read = (words: ReadonlyArray<string>, options: ReadonlyArray<Parameter>): Given => {
  const given: Given = { options: [], args: [], unknown: [], faults: [] }
  const find = (name: string) => options.find(({ names }) => names.includes(name))
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (!isOption(word)) {
      given.args.push(word)
      continue
    }
    const [, name = word, assigned] = /^(--[^=]+)=(.*)$/s.exec(word) ?? []
    const option = find(name)
    if (option === undefined) {
      given.unknown.push(name)
      given.faults.push(unknownOption(name, options))
    } else if (option.value === undefined) {
      given.options.push({ option })
      if (assigned !== undefined) given.faults.push(`${name} takes no value`)
    } else {
      const next = words[at + 1]
      const value = assigned ?? (next !== undefined && find(next) === undefined ? words[++at] : undefined)
      given.options.push({ option, value: value ?? "" })
      if (value === undefined) given.faults.push(`${name} requires a value (${option.value})`)
    }
  }
  return given
}

/** Options that were given too often, and alternatives that were given together. */
const tooMany = (given: ReadonlyArray<Parameter>): ReadonlyArray<string> =>
  Object.values(Arr.groupBy(given, ({ need }) => need)).flatMap((options) => {
    const names = Arr.dedupe(namesOf(options))
    if (names.length > 1) return [`use either ${names.join(" or ")}, not both`]
    const [{ mayRepeat, name, value }] = options
    return options.length > 1 && value !== undefined && !mayRepeat ? [`${name} may be given only once`] : []
  })

const faultsOf = (given: Given, { args, options }: Parameters): ReadonlyArray<string> => {
  const found = given.options.map(({ option }) => option)
  const meant = given.unknown.map((name) => nearest(name, namesOf(options)))
  const needs = new Set([...found, ...options.filter(({ name }) => meant.includes(name))].map(({ need }) => need))
  const missing = options.filter(({ isRequired, need }) => isRequired && !needs.has(need)).map(({ need }) => need)
  const missingArgs = args.slice(given.args.length).filter(({ isRequired }) => isRequired)
  const surplus = args.some(({ mayRepeat }) => mayRepeat) ? [] : given.args.slice(args.length)
  return [
    ...given.faults,
    ...tooMany(found),
    ...missingArgs.map(({ name }) => `missing argument ${name}`),
    ...Arr.dedupe(missing).map((need) => `missing option ${need}`),
    // The value of an unknown option looks like an argument.
    ...(given.unknown.length > 0 ? [] : surplus.map((word) => `unexpected argument ${JSON.stringify(word)}`))
  ]
}

interface Arranged {
  /** Options first, then `--` and the arguments. Switches have an explicit value. */
  readonly words: ReadonlyArray<string>
  readonly faults: ReadonlyArray<string>
}

/** `args` are further arguments, which may look like options. */
export const arrange = (
  words: ReadonlyArray<string>,
  args: ReadonlyArray<string>,
  parameters: Parameters
): Arranged => {
  const given = read(words, parameters.options)
  given.args.push(...args)
  const valued = given.options.flatMap(({ option, value }) => (value === undefined ? [] : [option.name, value]))
  const switches = given.options.flatMap(({ option, value }) => (value === undefined ? [`${option.name}=true`] : []))
  return {
    words: [...valued, ...Arr.dedupe(switches), "--", ...given.args],
    faults: faultsOf(given, parameters)
  }
}
