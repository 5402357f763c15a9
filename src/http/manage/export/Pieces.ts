/** Long texts in pieces: an answer may have 8 MiB, and six times that as JSON. */
import * as Json from "../../../domain/Json.ts"

/** In UTF-16 code units. */
const pieceLength = 64 * 1024

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** The pieces of a text. Surrogate pairs stay together, since each piece is encoded by itself. */
export function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = start + pieceLength
    const cut = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end
    yield text.slice(start, cut)
    start = cut
  }
}

/** The result of `JSON.stringify` for a JSON value. */
export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === "string" && value.length > pieceLength) {
    yield '"'
    for (const piece of piecesOf(value)) yield JSON.stringify(piece).slice(1, -1)
    yield '"'
  } else if (Array.isArray(value)) {
    let before = "["
    for (const item of value) {
      yield before
      yield* jsonPieces(item)
      before = ","
    }
    yield before === "[" ? "[]" : "]"
  } else if (typeof value === "object" && value !== null && !Json.isNumber(value)) {
    let before = "{"
    for (const [name, item] of Object.entries(value)) {
      if (item === undefined) continue
      yield `${before}${JSON.stringify(name)}:`
      yield* jsonPieces(item)
      before = ","
    }
    yield before === "{" ? "{}" : "}"
  } else {
    yield Json.stringify(value)
  }
}

/** Joins short pieces, so that they are not written one by one. */
export function* joined(pieces: Iterable<string>): Generator<string> {
  let text = ""
  for (const piece of pieces) {
    text += piece
    if (text.length < pieceLength) continue
    yield text
    text = ""
  }
  if (text !== "") yield text
}
