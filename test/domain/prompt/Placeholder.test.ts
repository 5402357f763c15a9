import { Result } from "effect"
import { expect, it } from "vitest"
import { textOf } from "../../../src/domain/prompt/FilledPart.ts"
import * as Liquid from "../../../src/domain/prompt/Liquid.ts"
import { placeholderAt } from "../../../src/domain/prompt/Placeholder.ts"
import * as Template from "../../../src/domain/prompt/Template.ts"

const payload = {
  plain: "1",
  "x-kind": "2",
  "app/name": "3",
  "it's": "4",
  'say "hi"': "5",
  list: [{ "0": "6" }],
  "é 名": "7",
  "2nd": "8"
}
const paths = [
  ...["plain", "x-kind", "app/name", "it's", 'say "hi"', "é 名", "2nd"].map((name) => ["payload", name]),
  ["payload", "list", "0", "0"]
]

it("a placeholder names the value at its path, whatever its names are, in both languages", () => {
  const values = { payload }
  const wanted = ["1", "2", "3", "4", "5", "7", "8", "6"]
  const simple = paths.map((path) => {
    const template = Result.getOrThrow(Template.parse(placeholderAt(path, "simple")))
    return Result.getOrThrow(Template.render(template, values))
  })
  const liquid = paths.map((path) => {
    const template = Result.getOrThrow(Liquid.parse(placeholderAt(path, "liquid")))
    return textOf(Result.getOrThrow(Liquid.fill(template, values, { limit: 1000 })))
  })
  expect([simple, liquid]).toEqual([wanted, wanted])
})
