/**
 * JSON whose numbers stay as they were written: `820982911946154508`, which a JavaScript number would round, and `1.10`,
 * which it would shorten. All other numbers are plain ones. Browser-safe.
 */
import { Predicate } from "effect"

/** Of this process, so that no text that others send can look like a number. */
const secret = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16)).join("")
/** Begins each of them in the text of `JSON.stringify`. */
export const mark = `\uE000number ${secret} `
const marked = new RegExp(`"${mark}([-+.\\deE]+)"`, "g")

/** A number that a JavaScript number cannot be written back as. Also comparable in Liquid's templates. */
export class JsonNumber {
  /** As it was written. */
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
  valueOf(): number {
    return Number(this.source)
  }
  toString(): string {
    return this.source
  }
  /** For `stringify`. */
  toJSON(): string {
    return mark + this.source
  }
  equals(other: unknown): boolean {
    return isNumber(other) && compare(this, other) === 0
  }
  gt(other: unknown): boolean {
    return isNumber(other) && compare(this, other) > 0
  }
  geq(other: unknown): boolean {
    return isNumber(other) && compare(this, other) >= 0
  }
  lt(other: unknown): boolean {
    return isNumber(other) && compare(this, other) < 0
  }
  leq(other: unknown): boolean {
    return isNumber(other) && compare(this, other) <= 0
  }
}

/** The members of an object; none, if it is something else. */
export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  Predicate.isReadonlyRecord(value) ? value : {}

export const isNumber = (value: unknown): value is number | JsonNumber =>
  typeof value === "number" || value instanceof JsonNumber

/** The number that is written so. */
export const numberOf = (source: string): number | JsonNumber => {
  const number = Number(source)
  return String(number) === source ? number : new JsonNumber(source)
}

/** Fails with a `SyntaxError`. */
export const parse = (json: string): unknown => {
  const numbers = numbersToKeep(json)
  if (numbers.length === 0) return JSON.parse(json)
  // Each becomes a marked text, so that the parser itself stays the platform's.
  let text = ""
  let copied = 0
  for (const [from, to] of numbers) {
    text += `${json.slice(copied, from)}"${mark}${json.slice(from, to)}"`
    copied = to
  }
  return JSON.parse(text + json.slice(copied), (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? new JsonNumber(value.slice(mark.length)) : value
  )
}

const quote = 0x22
const plus = 0x2b
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const upperE = 0x45
const backslash = 0x5c
const lowerE = 0x65

/** Where the numbers begin and end that JavaScript would write in another way. What is no JSON has any. */
const numbersToKeep = (json: string): ReadonlyArray<readonly [from: number, to: number]> => {
  const found: Array<readonly [number, number]> = []
  const end = json.length
  let at = 0
  while (at < end) {
    const character = json.charCodeAt(at)
    if (character === quote) {
      at++
      while (at < end && json.charCodeAt(at) !== quote) at += json.charCodeAt(at) === backslash ? 2 : 1
      at++
    } else if (character === minus || (character >= zero && character <= nine)) {
      const from = at
      // Integers of up to 15 digits, such as nearly all numbers, need no look at their text.
      let isPlain = character !== minus && character !== zero
      for (at++; at < end; at++) {
        const next = json.charCodeAt(at)
        if (next >= zero && next <= nine) continue
        if (next !== point && next !== minus && next !== plus && next !== lowerE && next !== upperE) break
        isPlain = false
      }
      if (isPlain && at - from <= 15) continue
      const source = json.slice(from, at)
      if (String(Number(source)) !== source && numberText.test(source)) found.push([from, at])
    } else at++
  }
  return found
}

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/

/** Marked numbers in a JSON text, or in any text with JSON in it, as they were written. */
export const withNumbers = (json: string): string => (json.includes(mark) ? json.replaceAll(marked, "$1") : json)

/** Like `JSON.stringify`, also with `undefined`, which has no JSON. */
export const stringify = (value: unknown, space?: number): string => {
  const json = JSON.stringify(value, null, space)
  return json && withNumbers(json)
}

/** Its sign, its digits without zeros at the ends, and how many of them are before the point. */
const partsOf = (value: number | JsonNumber) => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(String(value)) ?? []
  const all = whole + fraction
  const digits = all.replace(/^0+/, "").replace(/0+$/, "")
  const before = whole.length - (all.length - all.replace(/^0+/, "").length) + Number(exponent)
  return digits === "" ? { sign: 0, digits, before: 0 } : { sign: sign === "" ? 1 : -1, digits, before }
}

/** Of the numbers as they were written: negative if the first one is smaller, 0 if they are equal. */
export const compare = (a: number | JsonNumber, b: number | JsonNumber): number => {
  if (typeof a === "number" && typeof b === "number") return a - b
  const [one, two] = [partsOf(a), partsOf(b)]
  if (one.sign !== two.sign) return one.sign - two.sign
  if (one.before !== two.before) return one.sign * (one.before - two.before)
  return one.digits === two.digits ? 0 : one.digits < two.digits ? -one.sign : one.sign
}

/** One text for all ways to write a number: for keys and hashes. */
export const canonical = (value: number | JsonNumber): string => {
  const { before, digits, sign } = partsOf(value)
  const plain = String(Number(`${sign < 0 ? "-" : ""}0.${digits || "0"}e${before}`))
  return compare(numberOf(plain), value) === 0 ? plain : `${sign < 0 ? "-" : ""}0.${digits}e${before}`
}

const mapped = (
  value: unknown,
  number: (value: number | JsonNumber) => unknown,
  isKept: (name: string) => boolean
): unknown => {
  if (isNumber(value)) return number(value)
  if (Array.isArray(value)) return value.map((item) => mapped(item, number, isKept))
  if (!Predicate.isReadonlyRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isKept(name) ? member : mapped(member, number, isKept)])
  )
}

const none = () => false

/** Whether there is such a number in a JSON value. */
export const hasExact = (value: unknown): boolean =>
  value instanceof JsonNumber || (typeof value === "object" && value !== null && Object.values(value).some(hasExact))

/** Members of requests and responses with values of callers, and schemas for them. */
export const ofCallers = ["variables", "payload", "schema", "answer"]

/** With plain numbers, except in the members of these names. */
export const withPlainNumbers = (value: unknown, exactIn: ReadonlyArray<string> = []): unknown =>
  hasExact(value) ? mapped(value, Number, exactIn.length === 0 ? none : (name) => exactIn.includes(name)) : value

/**
 * JSON values with plain numbers, for code that knows no others. The numbers are equal and ordered as before: of those that
 * would be rounded to the same one, each greater one becomes the next.
 */
export const withOrderedNumbers = <Values extends ReadonlyArray<unknown>>(values: Values): Values => {
  const numbers: Array<number | JsonNumber> = []
  mapped(values, (number) => numbers.push(number), none)
  const plain = new Map<string, number>()
  let last = Number.NEGATIVE_INFINITY
  let before: number | JsonNumber | undefined
  for (const number of numbers.sort(compare)) {
    const isRepeated = before !== undefined && compare(before, number) === 0
    if (!isRepeated) last = Number(number) > last ? Number(number) : next(last)
    plain.set(String(number), last)
    before = number
  }
  return mapped(values, (number) => plain.get(String(number)), none) as Values
}

/** The next greater number. */
const next = (number: number): number => {
  if (number === 0) return Number.MIN_VALUE
  if (number === Number.POSITIVE_INFINITY) return number
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, number)
  view.setBigInt64(0, view.getBigInt64(0) + (number < 0 ? -1n : 1n))
  return view.getFloat64(0)
}
