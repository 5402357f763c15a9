/**
 * JSON whose numbers stay as they were written: `820982911946154508`, which a JavaScript number would round, and `1.10`,
 * which it would shorten. All other numbers are plain ones. Browser-safe.
 */
import { Predicate } from "effect"

/** A secret of this process, so that no text that others send can look like a number. */
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
  Predicate.isReadonlyObject(value) ? value : {}

export const isNumber = (value: unknown): value is number | JsonNumber =>
  typeof value === "number" || value instanceof JsonNumber

/** The number that is written so. */
export const numberOf = (source: string): number | JsonNumber => {
  const number = Number(source)
  return String(number) === source ? number : new JsonNumber(source)
}

/** Fails with a `SyntaxError`. Takes hardly longer than `JSON.parse`, and with numbers to keep about twice as long. */
export const parse = (json: string): unknown => {
  if (!hasNumbersToKeep(json)) return JSON.parse(json)
  const value = parseKeeping(json)
  // For a text that is no JSON, `JSON.parse` throws its own error.
  return value === notParsed ? JSON.parse(json) : value
}

/** The value of a JSON text with the platform's numbers; `undefined` if it is none. */
export const parsePlain = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const upperE = 0x45
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const lowerE = 0x65
const openBrace = 0x7b
const closeBrace = 0x7d

/** A decimal number with so many digits is the only one of that length for its JavaScript number. */
const exactDigits = 15
/** JavaScript never writes more digits than that of a fraction. */
const mostDigits = 17
/** JavaScript writes a longer whole number with an exponent. */
const longestWhole = 21

const isDigit = (character: number): boolean => character >= zero && character <= nine

/** Where the text ends whose beginning is before `at`: at its closing quote; -1: nowhere. */
const endOfText = (json: string, at: number): number => {
  let end = json.indexOf('"', at)
  while (end >= 0) {
    let before = end
    while (json.charCodeAt(before - 1) === backslash) before--
    if (((end - before) & 1) === 0) return end
    end = json.indexOf('"', end + 1)
  }
  return -1
}

/** Whether there may be numbers that JavaScript would write in another way. Most JSON has none: it need not be parsed here. */
const hasNumbersToKeep = (json: string): boolean => {
  for (let at = 0; at < json.length; at++) {
    const character = json.charCodeAt(at)
    if (character === quote) {
      at = endOfText(json, at + 1)
      if (at < 0) return false
    } else if (character === minus || isDigit(character)) {
      const from = at
      while (isDigit(json.charCodeAt(at + 1))) at++
      const next = json.charCodeAt(at + 1)
      if (next === point || next === lowerE || next === upperE) {
        while (isOfNumber(json.charCodeAt(at + 1))) at++
        if (isKept(json, from, at + 1)) return true
      } else if (at - from >= exactDigits || character === minus) {
        if (isKept(json, from, at + 1)) return true
      }
    }
  }
  return false
}

const isOfNumber = (character: number): boolean =>
  isDigit(character) ||
  character === point ||
  character === plus ||
  character === minus ||
  character === lowerE ||
  character === upperE

/**
 * Whether JavaScript would write this number in another way. Most are decided by their digits: to write a number takes ten times
 * as long as to read it.
 */
const isKept = (json: string, from: number, to: number): boolean => {
  let at = json.charCodeAt(from) === minus ? from + 1 : from
  const whole = at
  while (at < to && isDigit(json.charCodeAt(at))) at++
  const wholeDigits = at - whole
  const isZero = wholeDigits === 1 && json.charCodeAt(whole) === zero
  if (at === to) {
    if (wholeDigits > longestWhole) return true
    if (wholeDigits <= exactDigits) return isZero && whole > from
    return isWrittenOtherwise(json, from, to)
  }
  if (json.charCodeAt(at) === point) {
    const fraction = at + 1
    at = fraction
    while (at < to && isDigit(json.charCodeAt(at))) at++
    // JavaScript writes no zeros at the end.
    if (json.charCodeAt(at - 1) === zero) return true
    const digits = wholeDigits + at - fraction
    if (at === to) {
      if (digits <= exactDigits && !isZero) return false
      if (digits > mostDigits && !isZero) return true
      return isWrittenOtherwise(json, from, to)
    }
    if (wholeDigits > 1) return true
  }
  // It writes exponents as e+21 and e-7.
  const sign = json.charCodeAt(at + 1)
  if (json.charCodeAt(at) !== lowerE || (sign !== plus && sign !== minus) || to - at > 5) return true
  const exponent = Number(json.slice(at + 2, to))
  if (sign === plus ? exponent < longestWhole : exponent < 7) return true
  return isWrittenOtherwise(json, from, to)
}

const isWrittenOtherwise = (json: string, from: number, to: number): boolean => {
  const source = json.slice(from, to)
  return String(Number(source)) !== source
}

/** The parser's own answer: the text is no JSON, or is nested too deeply for it. */
const notParsed = Symbol("no JSON")
/** No value in use is nested so deeply. */
const deepest = 500
/** Shorter texts are read by their characters, which is quicker. */
const shortText = 24
/** A backslash, or a control character. */
const special = /[^ -[\]-\uffff]/

/** Parses JSON with numbers to keep. A reviver of `JSON.parse` takes twenty times as long. */
const parseKeeping = (json: string): unknown => {
  let at = 0
  let depth = 0
  /** Numbers that were kept, by some of their characters: many repeat. */
  const recent: Array<JsonNumber | undefined> = new Array(256).fill(undefined)

  /** The next character that is no white space. */
  const skipSpace = (): number => {
    for (;;) {
      const character = json.charCodeAt(at)
      if (character !== 0x20 && character !== 0x0a && character !== 0x0d && character !== 0x09) return character
      at++
    }
  }

  const readValue = (first: number): unknown => {
    if (first === minus || isDigit(first)) return readNumber(first)
    if (first === quote) return readText()
    if (first === openBracket || first === openBrace) {
      if (depth === deepest) return notParsed
      depth++
      at++
      const value = first === openBracket ? readArray() : readObject()
      depth--
      return value
    }
    for (const [word, value] of words) {
      if (!json.startsWith(word, at)) continue
      at += word.length
      return value
    }
    return notParsed
  }

  const readArray = (): unknown => {
    const array: Array<unknown> = []
    let next = skipSpace()
    if (next === closeBracket) {
      at++
      return array
    }
    for (;;) {
      const value = readValue(next)
      if (value === notParsed) return notParsed
      array.push(value)
      next = skipSpace()
      at++
      if (next === closeBracket) return array
      if (next !== comma) return notParsed
      next = skipSpace()
    }
  }

  const readObject = (): unknown => {
    const object: Record<string, unknown> = {}
    if (skipSpace() === closeBrace) {
      at++
      return object
    }
    for (;;) {
      const name = skipSpace() === quote ? readText() : notParsed
      if (typeof name !== "string" || skipSpace() !== colon) return notParsed
      at++
      const value = readValue(skipSpace())
      if (value === notParsed) return notParsed
      if (name === "__proto__") Object.defineProperty(object, name, { value, ...ordinary })
      else object[name] = value
      const next = skipSpace()
      at++
      if (next === closeBrace) return object
      if (next !== comma) return notParsed
    }
  }

  const readText = (): string | typeof notParsed => {
    const from = ++at
    for (let to = from; to - from <= shortText; to++) {
      const character = json.charCodeAt(to)
      if (character === quote) {
        at = to + 1
        return json.slice(from, to)
      }
      if (character === backslash || !(character >= 0x20)) break
    }
    const end = endOfText(json, from)
    if (end < 0) return notParsed
    at = end + 1
    const text = json.slice(from, end)
    if (!special.test(text)) return text
    try {
      return JSON.parse(json.slice(from - 1, at))
    } catch {
      return notParsed
    }
  }

  const readNumber = (first: number): number | JsonNumber | typeof notParsed => {
    const from = at
    if (first === minus) at++
    const whole = at
    let value = 0
    let next = json.charCodeAt(at)
    for (; isDigit(next); next = json.charCodeAt(++at)) value = value * 10 + next - zero
    const digits = at - whole
    if (digits === 0 || (digits > 1 && json.charCodeAt(whole) === zero)) return notParsed
    const isWhole = next !== point && next !== lowerE && next !== upperE
    if (isWhole && digits <= exactDigits) return first !== minus ? value : value === 0 ? new JsonNumber("-0") : -value
    if (next === point) {
      const fraction = ++at
      while (isDigit(json.charCodeAt(at))) at++
      if (at === fraction) return notParsed
      next = json.charCodeAt(at)
    }
    if (next === lowerE || next === upperE) {
      next = json.charCodeAt(++at)
      if (next === plus || next === minus) at++
      const exponent = at
      while (isDigit(json.charCodeAt(at))) at++
      if (at === exponent) return notParsed
    }
    const slot = (json.charCodeAt(from) * 31 + json.charCodeAt(at - 1) * 7 + at - from) & 255
    const known = recent[slot]
    if (known !== undefined && known.source.length === at - from && json.startsWith(known.source, from)) return known
    const source = json.slice(from, at)
    if (!isKept(json, from, at)) return Number(source)
    const kept = new JsonNumber(source)
    recent[slot] = kept
    return kept
  }

  const value = readValue(skipSpace())
  skipSpace()
  return at < json.length ? notParsed : value
}

const words = [
  ["true", true],
  ["false", false],
  ["null", null]
] as const

const ordinary = { configurable: true, enumerable: true, writable: true }

/** Marked numbers in a JSON text, or in any text with JSON in it, as they were written. */
export const withNumbers = (json: string): string => (json.includes(mark) ? json.replaceAll(marked, "$1") : json)

/** Like `JSON.stringify`, also with `undefined`, which has no JSON. */
export const stringify = (value: unknown, space?: number): string => {
  if (space === undefined && hasExact(value)) return written(value)!
  const json = JSON.stringify(value, null, space)
  return json && withNumbers(json)
}

/** The JSON of a value with exact numbers: `JSON.stringify` would ask each for its text, and mark it. */
const written = (value: unknown): string | undefined => {
  if (value instanceof JsonNumber) return value.source
  if (Array.isArray(value)) {
    let json = "["
    for (let at = 0; at < value.length; at++) json += `${at === 0 ? "" : ","}${written(value[at]) ?? "null"}`
    return `${json}]`
  }
  if (typeof value !== "object" || value === null || "toJSON" in value)
    return withNumbers(JSON.stringify(value) ?? "") || undefined
  let json = ""
  for (const name of Object.keys(value)) {
    const member = written((value as Record<string, unknown>)[name])
    if (member !== undefined) json += `${json === "" ? "" : ","}${JSON.stringify(name)}:${member}`
  }
  return `{${json}}`
}

/** About how long the JSON of a value is, in UTF-16 code units. */
export const lengthOf = (value: unknown): number => {
  if (typeof value === "string") return value.length + 2
  if (value instanceof JsonNumber) return value.source.length
  if (typeof value !== "object" || value === null) return 8
  let length = 2
  if (Array.isArray(value)) for (let at = 0; at < value.length; at++) length += 1 + lengthOf(value[at])
  else
    for (const name of Object.keys(value))
      length += name.length + 4 + lengthOf((value as Record<string, unknown>)[name])
  return length
}

/** Its sign, its digits without zeros at the ends, and how many of them are before the point. */
const partsOf = (value: number | JsonNumber) => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(String(value)) ?? []
  const all = whole + fraction
  let [from, to] = [0, all.length]
  while (all.charCodeAt(from) === zero) from++
  while (to > from && all.charCodeAt(to - 1) === zero) to--
  const digits = all.slice(from, to)
  const before = whole.length - from + Number(exponent)
  return digits === "" ? { sign: 0, digits, before: 0 } : { sign: sign === "" ? 1 : -1, digits, before }
}

/** JavaScript's numbers have the same order and equality as those that are written with so few digits, and no exponent. */
const isSimple = (value: number | JsonNumber): boolean =>
  typeof value === "number" || (value.source.length <= exactDigits && !/[eE]/.test(value.source))

/** Compares the numbers as they were written: negative if the first one is smaller, 0 if they are equal. */
export const compare = (a: number | JsonNumber, b: number | JsonNumber): number => {
  if (isSimple(a) && isSimple(b)) return Number(a) - Number(b)
  const [one, two] = [partsOf(a), partsOf(b)]
  if (one.sign !== two.sign) return one.sign - two.sign
  if (one.before !== two.before) return one.sign * (one.before - two.before)
  return one.digits === two.digits ? 0 : one.digits < two.digits ? -one.sign : one.sign
}

/** One text for all ways to write a number: for keys and hashes. */
export const canonical = (value: number | JsonNumber): string => {
  if (isSimple(value)) return String(Number(value))
  const { before, digits, sign } = partsOf(value)
  const exact = `${sign < 0 ? "-" : ""}0.${digits}e${before}`
  if (digits.length > mostDigits) return exact
  const plain = String(Number(`${sign < 0 ? "-" : ""}0.${digits || "0"}e${before}`))
  return compare(numberOf(plain), value) === 0 ? plain : exact
}

const mapped = (
  value: unknown,
  number: (value: number | JsonNumber) => unknown,
  isKept: (name: string) => boolean
): unknown => {
  if (isNumber(value)) return number(value)
  if (Array.isArray(value)) return value.map((item) => mapped(item, number, isKept))
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isKept(name) ? member : mapped(member, number, isKept)])
  )
}

const none = () => false

/** Whether there is such a number in a JSON value. */
export const hasExact = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (value instanceof JsonNumber) return true
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (hasExact(value[at])) return true
    return false
  }
  for (const name in value) if (hasExact((value as Record<string, unknown>)[name])) return true
  return false
}

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
