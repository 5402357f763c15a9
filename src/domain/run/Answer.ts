/** The value in an answer of an agent, for webhooks with an `answer_schema`. */
import { Result } from "effect"
import type { Fault } from "../Errors.ts"
import * as Json from "../Json.ts"
import { checkVariables } from "../prompt/Variables.ts"

const parse = (text: string): unknown => {
  try {
    return Json.parse(text)
  } catch {
    return undefined
  }
}

const mark = "```"

/** The content of the answer's only block of code, whose first line may have a language. */
const inBlock = (text: string): string => {
  const [begin, end] = [text.indexOf(mark), text.lastIndexOf(mark)]
  return begin === end ? "" : text.slice(begin + mark.length, end).replace(/^\w+\s/, "")
}

/** The JSON that an answer consists of, or that is in its only block of code; `undefined` if there is none. */
export const valueIn = (answer: string): unknown => {
  const value = parse(answer)
  return value === undefined ? parse(inBlock(answer)) : value
}

const noJson: Fault = { pointer: "", detail: "is not JSON" }

/** The value if it can be checked by a schema, stored and sent; or its faults. */
export const readAnswer = (answer: string): Result.Result<unknown, ReadonlyArray<Fault>> => {
  const value = valueIn(answer)
  if (value === undefined) return Result.fail([noJson])
  const faults = checkVariables({ answer: value }, "").map(({ detail, pointer }) => ({
    pointer: pointer.slice("/answer".length),
    detail
  }))
  return faults.length === 0 ? Result.succeed(value) : Result.fail(faults)
}

/** How many faults are listed. */
const mostFaults = 10

/** As lines, such as `/verdict: is missing`. */
export const linesOf = (faults: ReadonlyArray<Fault>): string =>
  faults
    .slice(0, mostFaults)
    .map(({ detail, pointer }) => `- ${pointer === "" ? "the answer" : pointer}: ${detail}`)
    .join("\n")
