/** The places of `src` to break, one in a file: conditions to negate, calls to drop, arguments to swap. */
import ts from "typescript-5.9"
import { type Random, seeded } from "../support/Seeded.ts"

export const kinds = ["negate", "drop", "swap"] as const
export type Kind = (typeof kinds)[number]

export interface Place {
  readonly file: string
  readonly line: number
  readonly kind: Kind
  /** The text to replace, as offsets, and its broken version. */
  readonly start: number
  readonly end: number
  readonly broken: string
  /** The same text, unchanged in meaning, with an expression that is evaluated before it. */
  readonly marked: (marker: string) => string
}

/** Identifies a place in a stored map. */
export const keyOf = ({ file, kind, line }: Place): string => `${file}:${line} ${kind}`

export const replaced = (source: string, { end, start }: Place, text: string): string =>
  source.slice(0, start) + text + source.slice(end)

/** The entry for tests, and build scripts. */
const leftOut = /^src\/testing\.ts$|\/vite\.config\.ts$|\.d\.ts$/

export const mayBeBroken = (file: string): boolean => /\.tsx?$/.test(file) && !leftOut.test(file)

/** No test should hold these calls: logs and metrics. */
const unpromised = /^super$|console\.|\bEffect\.(log|annotate)|log(Info|Warning|Error)$|metric|RequestLog/i

/** The order of these arguments has no effect, or seldom one. */
const symmetric = /^Math\.(max|min)$|^Layer\.(merge|mergeAll)$|^Schema\.(Literal|Union)$|(^|\.)pipe$/

const isCondition = (node: ts.Node): node is ts.Expression => {
  const { parent } = node
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) return parent.expression === node
  if (ts.isConditionalExpression(parent)) return parent.condition === node
  if (!ts.isBinaryExpression(parent)) return false
  return parent.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken && parent.left === node
}

/** The call in `call()`, `await call()` and `yield* call()`. */
const callIn = (node: ts.Expression): ts.CallExpression | undefined => {
  if (ts.isAwaitExpression(node)) return callIn(node.expression)
  if (ts.isYieldExpression(node)) return node.expression && callIn(node.expression)
  return ts.isCallExpression(node) ? node : undefined
}

/** Arguments of two different kinds of literals cannot be meant for each other's place. */
const literalOf = (node: ts.Expression): ts.SyntaxKind | undefined =>
  ts.isLiteralExpression(node) || ts.isFunctionLike(node) || ts.isObjectLiteralExpression(node) ? node.kind : undefined

const placesIn = (file: string, text: string): ReadonlyArray<Place> => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true)
  const places: Array<Place> = []
  const add = (kind: Kind, from: ts.Node, to: ts.Node, broken: string, marked: Place["marked"]) => {
    const [start, end] = [from.getStart(), to.getEnd()]
    const line = source.getLineAndCharacterOfPosition(start).line + 1
    places.push({ file, line, kind, start, end, broken, marked })
  }
  const swapIn = (call: ts.CallExpression) => {
    if (symmetric.test(call.expression.getText())) return
    for (const [index, first] of call.arguments.slice(0, -1).entries()) {
      const second = call.arguments[index + 1]!
      if (ts.isSpreadElement(first) || ts.isSpreadElement(second)) continue
      const [a, b] = [first.getText(), second.getText()]
      const literals = new Set([first, second].map(literalOf))
      if (a === b || (literals.size === 2 && !literals.has(undefined))) continue
      const between = text.slice(first.getEnd(), second.getStart())
      add("swap", first, second, b + between + a, (marker) => `(${marker}, ${a})${between}${b}`)
    }
  }
  const visit = (node: ts.Node): void => {
    if (isCondition(node)) {
      const condition = node.getText()
      add("negate", node, node, `!(${condition})`, (marker) => `(${marker}, ${condition})`)
    }
    const dropped = ts.isExpressionStatement(node) ? callIn(node.expression) : undefined
    if (dropped !== undefined && !unpromised.test(dropped.expression.getText())) {
      const statement = node.getText()
      // `void` first: without semicolons, a parenthesis would continue the previous line.
      add("drop", node, node, "void 0", (marker) => `void ${marker}, ${statement}`)
    }
    if (ts.isCallExpression(node)) swapIn(node)
    ts.forEachChild(node, visit)
  }
  ts.forEachChild(source, visit)
  return places
}

/** What the seed draws in one file: a rank among the files, and a place of each kind. Other files do not change it. */
const draw = (seed: number, file: string, text: string) => {
  const random: Random = seeded([...file].reduce((hash, char) => Math.imul(hash, 31) + char.charCodeAt(0), seed))
  const rank = random.next()
  const places = placesIn(file, text)
  const pick = (kind: Kind): Place | undefined => {
    const some = places.filter((place) => place.kind === kind)
    return some.length === 0 ? undefined : random.pick(some)
  }
  return { file, rank, picked: { negate: pick("negate"), drop: pick("drop"), swap: pick("swap") } }
}

/**
 * `count` places, the three kinds in equal shares. `compiling` returns those whose broken version compiles: what the
 * compiler finds, no test has to.
 */
export const choosePlaces = async (
  seed: number,
  count: number,
  sources: ReadonlyMap<string, string>,
  compiling: (places: ReadonlyArray<Place>) => Promise<ReadonlyArray<Place>>
): Promise<ReadonlyArray<Place>> => {
  const files = [...sources].map(([file, text]) => draw(seed, file, text)).sort((a, b) => a.rank - b.rank)
  const tried = new Set<string>()
  const chosen: Record<Kind, Array<Place>> = { negate: [], drop: [], swap: [] }
  for (;;) {
    const missing = kinds.map((kind, index) => Math.ceil((count - index) / kinds.length) - chosen[kind].length)
    const round: Array<Place> = []
    for (const [index, kind] of kinds.entries()) {
      const free = files.filter(({ file, picked }) => picked[kind] !== undefined && !tried.has(file))
      // More than needed: each round takes a run of the compiler, which refuses most swaps.
      for (const { file, picked } of free.slice(0, missing[index]! * (kind === "swap" ? 5 : 2))) {
        tried.add(file)
        round.push(picked[kind]!)
      }
    }
    if (round.length === 0) break
    const good = await compiling(round)
    for (const [index, kind] of kinds.entries()) {
      chosen[kind].push(...good.filter((place) => place.kind === kind).slice(0, missing[index]))
    }
  }
  return kinds.flatMap((kind) => chosen[kind]).sort((a, b) => (a.file < b.file ? -1 : 1))
}
