/** The service that sent a request, found by what its samples have in common with it. Browser-safe. */
import { filter } from "../domain/prompt/Filter.ts"
import type { Sample } from "./Recipe.ts"
import { type RecipeName, recipeNames, recipes } from "./Recipes.ts"

type Headers = Sample["headers"]

/** A request as templates see it: without the headers that hold secrets. */
export interface SeenRequest {
  readonly headers: Headers
  readonly payload: unknown
}

/** A request with fewer points comes from nobody known. */
const enough = 2

/** The first word of the program's name, as in `GitHub-Hookshot/044aadd`. */
const programOf = ({ "user-agent": agent = "" }: Headers): string => agent.toLowerCase().match(/^[a-z]+/)?.[0] ?? ""

/** Headers that many services send. */
const commonHeaders = ["content-type", "user-agent", "idempotency-key"]

const ownHeaders = (headers: Headers): ReadonlyArray<string> =>
  Object.keys(headers).filter((name) => !commonHeaders.includes(name))

const fieldsOf = (payload: unknown): ReadonlyArray<string> =>
  typeof payload === "object" && payload !== null ? Object.keys(payload) : []

/** The share of these names that the others contain. */
const share = (names: ReadonlyArray<string>, others: ReadonlyArray<string>): number =>
  names.length === 0 ? 0 : names.filter((name) => others.includes(name)).length / names.length

const points = (name: RecipeName, request: SeenRequest): number => {
  const { sample, settings } = recipes[name]
  const program = programOf(sample.headers)
  const isSameProgram = program !== "" && program === programOf(request.headers)
  const headers = share(ownHeaders(sample.headers), Object.keys(request.headers))
  const fields = share(fieldsOf(sample.payload), fieldsOf(request.payload))
  if (!isSameProgram && headers === 0 && fields < 1) return 0
  const { accept_if } = settings
  const result = accept_if === undefined ? undefined : filter(accept_if, { ...request, query: {} })
  const isWanted = result !== undefined && "accepted" in result && result.accepted
  return Number(isSameProgram) * 2 + headers * 2 + fields + Number(isWanted)
}

/** The recipe whose service most likely sent the request, and which would start a run for it if one does. */
export const guess = (request: SeenRequest): RecipeName | undefined => {
  const [best] = recipeNames
    .filter((name) => name !== "generic")
    .map((name) => ({ name, points: points(name, request) }))
    .toSorted((a, b) => b.points - a.points)
  return best !== undefined && best.points >= enough ? best.name : undefined
}
